// Arguments of programs, checked where types are not: a wrong one is named, not a TypeError from
// inside.

import { TcpxError } from './errors.js';
import { didYouMean } from './suggestion.js';

export function checkText(what: string, value: unknown): asserts value is string {
  if (typeof value !== 'string' || value === '') throw wrong(what, 'a text', value);
}

export function checkRecord(what: string, value: unknown): asserts value is object {
  if (typeof value !== 'object' || value === null) throw wrong(what, 'an object', value);
}

/** An option that nobody knows is a mistake in writing, and would be ignored in silence. */
export function checkNames(what: string, options: object, known: readonly string[]): void {
  for (const name in options) {
    if (known.includes(name)) continue;
    const near = didYouMean(name, known) || `; there are: ${known.join(', ')}`;
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${what}: no option ${JSON.stringify(name)}${near}`);
  }
}

/** A wait as programs give it: a time alone, or options. */
export interface TimedWait {
  /** How long to wait, in ms. */
  readonly timeoutMs?: number;
  /** Ends the wait with an `AbortError`. */
  readonly signal?: AbortSignal;
}

export function timedWaitOf(what: string, given: number | TimedWait): TimedWait {
  const options = typeof given === 'number' ? { timeoutMs: given } : given;
  checkRecord(`${what}: options`, options);
  checkNames(what, options, ['timeoutMs', 'signal']);
  checkTime(`${what}: timeoutMs`, options.timeoutMs);
  checkSignal(what, options.signal);
  return options;
}

/** In ms; Infinity is a time. */
export function checkTime(what: string, timeMs: unknown): void {
  if (timeMs === undefined || (typeof timeMs === 'number' && timeMs >= 0)) return;
  throw wrong(what, 'a time in ms', timeMs);
}

export function checkSignal(what: string, signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw wrong(`${what}: signal`, 'an AbortSignal', signal);
}

function wrong(what: string, wanted: string, value: unknown): TcpxError {
  const given = value === '' ? 'an empty one' : `${typeof value} ${String(value)}`;
  return new TcpxError('ERR_USAGE_ARGUMENT', `${what} is ${wanted}, not ${given}`);
}
