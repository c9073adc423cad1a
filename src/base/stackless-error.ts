// Errors that are made often and by no fault.

import { type ErrorCode, TcpxError } from './errors.js';

/**
 * One that is nobody's fault, like the end of a session in order. Such are made often, and where
 * says nothing: without the stack they take a tenth of the time.
 */
export function stacklessError(code: ErrorCode, message: string): TcpxError {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return new TcpxError(code, message);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
