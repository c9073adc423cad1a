// What the exit status of every command means.

import { type ErrorCode, isTcpxError } from '../base/errors.js';

export const ExitCode = {
  Good: 0,
  /** The command worked and the answer is no: a check failed. */
  AnswerIsNo: 1,
  Usage: 2,
  /** The environment lacks something. */
  Environment: 3,
  RunTime: 4,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

export function exitCodeOf(error: unknown): ExitCode {
  if (!isTcpxError(error)) return ExitCode.RunTime;
  return exitCodeOfErrorCode(error.code);
}

function exitCodeOfErrorCode(code: ErrorCode): ExitCode {
  if (code.startsWith('ERR_USAGE_') || code.startsWith('ERR_CONFIG_')) {
    // A disagreement between two peers is found at run time, not on the command line.
    return code === 'ERR_CONFIG_MISMATCH' ? ExitCode.RunTime : ExitCode.Usage;
  }
  if (code.startsWith('ERR_CAP_')) return ExitCode.Environment;
  if (code === 'ERR_XFER_VERIFY' || code === 'ERR_XFER_PATH') return ExitCode.AnswerIsNo;
  return ExitCode.RunTime;
}
