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
