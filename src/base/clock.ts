// Time enters the program here; pure code takes it as an argument instead.

export interface Clock {
  /** Monotonic microseconds since an arbitrary start, with a fraction. */
  nowUs(): number;
}

const ORIGIN_TRIES = 8;

// Each thread may have an origin of its own; the clock below is the same for all. A thread that is
// put aside between the two readings gets an origin that is too early: the latest is the true one.
const ORIGIN_US = Math.max(
  ...Array.from(
    { length: ORIGIN_TRIES },
    () => Number(process.hrtime.bigint()) / 1000 - performance.now() * 1000,
  ),
);

/** Comparable between the threads of a process. */
export const systemClock: Clock = {
  nowUs: () => ORIGIN_US + performance.now() * 1000,
};

/** Since 1970, with fractions, and steady while a process lives. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Node takes every longer time for a millisecond. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

/** Acts after any time, which may be Infinity; what it returns keeps it from acting. */
export function afterMs(delayMs: number, act: () => void): () => void {
  let timer: NodeJS.Timeout;
  const wait = (leftMs: number): void => {
    const isLong = leftMs > TIMER_MS_MAX;
    const next = isLong ? (): void => wait(leftMs - TIMER_MS_MAX) : act;
    timer = setTimeout(next, isLong ? TIMER_MS_MAX : leftMs);
  };
  wait(delayMs);
  return () => clearTimeout(timer);
}

/** Ends early, and without an error, when the signal is aborted. */
export function sleepMs(durationMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      stop();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const stop = afterMs(durationMs, end);
    signal?.addEventListener('abort', end);
    if (signal?.aborted === true) end();
  });
}

/** The promise, or nothing when the time is over; the timer goes with the promise. */
export async function withinMs<T>(promise: Promise<T>, limitMs: number): Promise<T | undefined> {
  let stop: () => void = () => undefined;
  const limit = new Promise<undefined>((resolve) => {
    stop = afterMs(limitMs, () => resolve(undefined));
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    stop();
  }
}
