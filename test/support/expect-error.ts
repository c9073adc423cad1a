// A matcher for assert.throws and assert.rejects: a TcpxError with this code and these facts.

import { type ErrorCode, isTcpxError } from '../../src/base/errors.js';

export function withCode(code: ErrorCode, text?: RegExp): (error: unknown) => boolean {
  return (error) => {
    if (!isTcpxError(error, code)) {
      throw new Error(`expected ${code}, got ${describe(error)}`);
    }
    if (text !== undefined && !text.test(error.message)) {
      throw new Error(`expected a message like ${String(text)}, got ${error.message}`);
    }
    return true;
  };
}

function describe(error: unknown): string {
  if (isTcpxError(error)) return `${error.code}: ${error.message}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
