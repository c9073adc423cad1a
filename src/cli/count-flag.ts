// A flag whose value is a whole number within limits.

import { type Command, type Invocation, usageError } from './command.js';

export interface CountLimits {
  /** Where the flag is not given. */
  readonly fallback: number;
  readonly least: number;
  readonly most: number;
}

export function countFlag(
  command: Command,
  invocation: Invocation,
  flag: string,
  { fallback, least, most }: CountLimits,
): number {
  const text = invocation.text(flag);
  const value = text === undefined ? fallback : Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw usageError(command, `--${flag} ${text ?? ''}: a whole number from ${least} to ${most}`);
}
