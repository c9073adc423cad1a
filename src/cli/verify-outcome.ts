// What a verification comes to. What cannot be read is neither verified nor broken.

import type { PreflightCheck } from '../host/irq/preflight.js';
import { isFailure, isUnknown, type LineVerdict } from '../host/irq/verify.js';
import { ExitCode } from './exit-code.js';

export const OUTCOMES = {
  verified: ExitCode.Good,
  'NOT as planned': ExitCode.AnswerIsNo,
  'NOT verified: some of it could not be read': ExitCode.Environment,
} as const;
export type Outcome = keyof typeof OUTCOMES;

export function outcomeOf(
  verdicts: readonly LineVerdict[],
  checks: readonly PreflightCheck[],
): Outcome {
  const isBroken =
    verdicts.some(({ state }) => isFailure(state)) || checks.some((c) => c.status === 'fail');
  if (isBroken) return 'NOT as planned';
  const hasUnknown =
    verdicts.some(({ state }) => isUnknown(state)) || checks.some((c) => c.status === 'unknown');
  return hasUnknown ? 'NOT verified: some of it could not be read' : 'verified';
}
