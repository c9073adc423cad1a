// AbortSignal where somebody waits: the wait ends at once with an AbortError whose cause is the
// signal's reason; what was begun ends by itself, behind it.

import { type ErrorCode, type ErrorFacts, TcpxError } from './errors.js';

/**
 * As the platform names it; the code says what kind of failure it is for a program.
 * @example
 * engine.connect(peer, { signal }).catch((error) => {
 *   if (error.name === 'AbortError') console.log('given up:', error.cause);
 * });
 */
export class AbortError extends TcpxError {
  override readonly name = 'AbortError';

  constructor(
    message: string,
    signal: AbortSignal,
    code: ErrorCode = 'ERR_USAGE_ABORTED',
    facts: ErrorFacts = {},
  ) {
    super(code, message, { cause: reasonOf(signal), facts });
  }
}

// Programs without types pass anything.
function reasonOf(signal: unknown): unknown {
  if (signal instanceof AbortSignal) return signal.reason;
  throw new TcpxError('ERR_USAGE_ARGUMENT', 'AbortError: signal is not an AbortSignal');
}

export function throwIfAborted(signal: AbortSignal | undefined, what: string): void {
  if (signal?.aborted === true) throw new AbortError(`${what}: aborted by its signal`, signal);
}

/** Opens something that takes its time; what comes after an abort is closed again. */
export async function openWithSignal<T extends { close(): Promise<void> }>(
  what: string,
  signal: AbortSignal | undefined,
  open: () => Promise<T>,
): Promise<T> {
  throwIfAborted(signal, what);
  const opening = open();
  try {
    return await withSignal(opening, signal, what);
  } catch (error) {
    if (signal?.aborted === true) {
      void opening.then((late) => late.close()).catch(() => undefined);
    }
    throw error;
  }
}

/** What is to be done when a signal is aborted, in the order in which it was said. */
const WAITING = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Acts when the signal is aborted, unless taken back by what it returns. All waits of a signal have
 * one listener: Node warns of a leak at the eleventh, and a program may well have a thousand waits.
 */
export function onAbort(signal: AbortSignal | undefined, act: () => void): () => void {
  if (signal === undefined) return () => undefined;
  // One that may be said twice is two.
  const own = (): void => act();
  const acts = WAITING.get(signal) ?? listen(signal);
  acts.add(own);
  return () => acts.delete(own);
}

function listen(signal: AbortSignal): Set<() => void> {
  const acts = new Set<() => void>();
  WAITING.set(signal, acts);
  const tell = (): void => {
    const failures: unknown[] = [];
    for (const act of acts) {
      try {
        act();
      } catch (error) {
        // The others are none the worse for that.
        failures.push(error);
      }
    }
    acts.clear();
    if (failures.length > 0) throw failures[0];
  };
  signal.addEventListener('abort', tell, { once: true });
  return acts;
}

/** The outcome of `promise`, or an AbortError as soon as the signal says so. */
export async function withSignal<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  what: string,
): Promise<T> {
  if (signal === undefined) return await promise;
  // Nobody may be waiting any more for what fails, now or later.
  promise.catch(() => undefined);
  throwIfAborted(signal, what);
  let release: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    const abort = (): void => reject(new AbortError(`${what}: aborted by its signal`, signal));
    release = onAbort(signal, abort);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    release();
  }
}
