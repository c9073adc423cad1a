// What `--json` prints when a command fails: one schema for every command.

import { inspect } from 'node:util';
import { ERROR_CODES, type ErrorFacts, isTcpxError } from '../base/errors.js';
import { type ExitCode, exitCodeOf } from './exit-code.js';

export interface ErrorDocument {
  readonly schema: 'tcpx.error/1';
  readonly ok: false;
  readonly exitCode: ExitCode;
  readonly error: {
    /** Of docs/errors.md; `ERR_INTERNAL` for a fault of this program. */
    readonly code: string;
    readonly message: string;
    readonly meaning: string;
    readonly remedy: string;
    /** Whether the same command may succeed later without a change. */
    readonly isRetryable: boolean;
    readonly facts: ErrorFacts;
    /** Messages of the errors behind it, outermost first. */
    readonly causes: readonly string[];
  };
}

export function errorDocument(error: unknown): ErrorDocument {
  const head = { schema: 'tcpx.error/1', ok: false, exitCode: exitCodeOf(error) } as const;
  const causes = causesOf(error);
  if (isTcpxError(error)) {
    const { code, message, facts, isRetryable } = error;
    const { meaning, remedy } = ERROR_CODES[code];
    return { ...head, error: { code, message, meaning, remedy, isRetryable, facts, causes } };
  }
  return {
    ...head,
    error: {
      code: 'ERR_INTERNAL',
      message: error instanceof Error ? error.message : String(error),
      meaning: 'a fault of this program',
      remedy: 'Run the command again with --stack and report what it prints.',
      isRetryable: false,
      facts: {},
      causes,
    },
  };
}

function causesOf(error: unknown): string[] {
  const causes: string[] = [];
  let cause = error instanceof Error ? error.cause : undefined;
  while (cause !== undefined && causes.length < 8) {
    causes.push(cause instanceof Error ? cause.message : inspect(cause, { depth: 1 }));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes;
}
