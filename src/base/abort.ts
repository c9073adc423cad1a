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
    super(code, message, { cause: signal.reason, facts });
  }
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

/** The outcome of `promise`, or an AbortError as soon as the signal says so. */
export async function withSignal<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  what: string,
): Promise<T> {
  if (signal === undefined) return await promise;
  throwIfAborted(signal, what);
  let release: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    const abort = (): void => reject(new AbortError(`${what}: aborted by its signal`, signal));
    signal.addEventListener('abort', abort, { once: true });
    release = () => signal.removeEventListener('abort', abort);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    release();
    // Nobody may be waiting any more for what failed meanwhile.
    promise.catch(() => undefined);
  }
}
