// Time enters the program here; pure code takes it as an argument instead.

export interface Clock {
  /** Monotonic microseconds since an arbitrary start, with a fraction. */
  nowUs(): number;
}

export const systemClock: Clock = {
  nowUs: () => performance.now() * 1000,
};

export function sleepMs(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, durationMs);
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
