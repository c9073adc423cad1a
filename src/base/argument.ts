// Arguments of programs, checked where types are not: a wrong one is named, not a TypeError from
// inside.

import { TcpxError } from './errors.js';
import { didYouMean } from './suggestion.js';

/** Throws `ERR_USAGE_ARGUMENT` unless the value is of its kind; `what` names it. */
export type Check = (what: string, value: unknown) => void;

export function checkText(what: string, value: unknown): asserts value is string {
  if (typeof value !== 'string' || value === '') throw wrongArgument(what, 'a text', value);
}

export function checkRecord(what: string, value: unknown): asserts value is object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw wrongArgument(what, 'an object', value);
}

export function checkList(what: string, value: unknown): asserts value is readonly unknown[] {
  if (!Array.isArray(value)) throw wrongArgument(what, 'an array', value);
}

export function checkFlag(what: string, value: unknown): asserts value is boolean {
  if (typeof value !== 'boolean') throw wrongArgument(what, 'true or false', value);
}

export function checkFunction(what: string, value: unknown): void {
  if (typeof value !== 'function') throw wrongArgument(what, 'a function', value);
}

export function checkBytes(what: string, value: unknown): asserts value is Uint8Array {
  if (!(value instanceof Uint8Array)) throw wrongArgument(what, 'a Uint8Array or Buffer', value);
  if (isDetached(value)) throw detached(what);
}

/** Its buffer was transferred to somebody else: it has no bytes, and reading it throws. */
function isDetached(view: Uint8Array): boolean {
  if (view.length > 0) return false;
  try {
    view.values();
    return false;
  } catch {
    return true;
  }
}

function detached(what: string): TcpxError {
  return new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `${what}: its buffer was transferred to another owner`,
  );
}

/** A text, empty too, or bytes. */
export function checkMessage(what: string, value: unknown): asserts value is string | Uint8Array {
  const isText = typeof value === 'string';
  if (isText || (value instanceof Uint8Array && !isDetached(value))) return;
  if (value instanceof Uint8Array) throw detached(what);
  throw wrongArgument(what, 'a text or bytes (Buffer, Uint8Array)', value);
}

export function checkWhole(what: string, value: unknown, min = 0): asserts value is number {
  if (Number.isSafeInteger(value) && (value as number) >= min) return;
  throw wrongArgument(what, `a whole number from ${min}`, value);
}

export function checkPort(what: string, value: unknown): void {
  if (Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= 65535) return;
  throw wrongArgument(what, 'a port, 0 to 65535', value);
}

export function checkOneOf(what: string, value: unknown, words: readonly string[]): void {
  if (typeof value === 'string' && words.includes(value)) return;
  throw wrongArgument(what, words.map((word) => `'${word}'`).join(' or '), value);
}

/** In ms; Infinity is a time. */
export function checkTime(what: string, value: unknown): void {
  if (value === undefined || (typeof value === 'number' && value >= 0)) return;
  throw wrongArgument(what, 'a time in ms', value);
}

/** One that must be there. */
export function checkGivenTime(what: string, value: unknown): void {
  if (value === undefined) throw wrongArgument(what, 'a time in ms', value);
  checkTime(what, value);
}

export function checkSignal(what: string, value: unknown): void {
  if (value === undefined || value instanceof AbortSignal) return;
  throw wrongArgument(what, 'an AbortSignal', value);
}

/** Something that writes events; see `Log`. */
export function checkLog(what: string, value: unknown): void {
  checkRecord(what, value);
  const levels = ['error', 'warn', 'info', 'debug', 'trace'];
  if (levels.every((level) => typeof Reflect.get(value, level) === 'function')) return;
  throw wrongArgument(what, `an object with the functions ${levels.join(', ')}`, value);
}

/** An option that nobody knows is a mistake in writing, and would be ignored in silence. */
export function checkNames(what: string, options: object, known: readonly string[]): void {
  for (const name in options) {
    if (known.includes(name)) continue;
    const near = didYouMean(name, known) || `; there are: ${known.join(', ')}`;
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${what}: no option ${JSON.stringify(name)}${near}`);
  }
}

/** An object of options: those that are there, each of its kind, and no other. */
export function checkOptions(
  what: string,
  options: unknown,
  kinds: Readonly<Record<string, Check>>,
): asserts options is object {
  checkRecord(`${what}: options`, options);
  checkNames(what, options, Object.keys(kinds));
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (value !== undefined) kinds[name]?.(`${what}: ${name}`, value);
  }
}

/** A wait as programs give it: a time alone, or options. */
export interface TimedWait {
  /** How long to wait, in ms. */
  readonly timeoutMs?: number;
  /** Ends the wait with an `AbortError`. */
  readonly signal?: AbortSignal;
}

export const TIMED_WAIT = { timeoutMs: checkTime, signal: checkSignal };

export function timedWaitOf(what: string, given: number | TimedWait): TimedWait {
  const options = typeof given === 'number' ? { timeoutMs: given } : given;
  checkOptions(what, options, TIMED_WAIT);
  return options;
}

/** "deadlineMs is a time in ms, not text". */
export function wrongArgument(what: string, wanted: string, value: unknown): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `${what} is ${wanted}, not ${shownValue(value)}`);
}

// What it holds is not shown: it may be a secret in the wrong place, or have no text at all.
export function shownValue(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (value === '') return 'an empty text';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'string') return 'a text';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return `${value}n, a BigInt`;
  return typeof value === 'object' ? nameOf(value) : `a ${typeof value}`;
}

function nameOf(value: object): string {
  const { constructor } = value as { constructor?: { name?: unknown } };
  const name = typeof constructor === 'function' ? (constructor as { name: string }).name : '';
  return name === '' || name === 'Object' ? 'an object' : `a ${name}`;
}
