// Time enters the program here; pure code takes it as an argument instead.

export interface Clock {
  /** Monotonic microseconds since an arbitrary start, with a fraction. */
  nowUs(): number;
}

// Each thread may have an origin of its own; the clock below is the same for all.
const ORIGIN_US = Number(process.hrtime.bigint()) / 1000 - performance.now() * 1000;

/** Comparable between the threads of a process. */
export const systemClock: Clock = {
  nowUs: () => ORIGIN_US + performance.now() * 1000,
};

/** Since 1970, with fractions, and steady while a process lives. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Ends early, and without an error, when the signal is aborted. */
export function sleepMs(durationMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, durationMs);
    signal?.addEventListener('abort', end);
    if (signal?.aborted === true) end();
  });
}

/** The promise, or nothing when the time is over; the timer goes with the promise. */
export async function withinMs<T>(promise: Promise<T>, limitMs: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limitMs);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}
