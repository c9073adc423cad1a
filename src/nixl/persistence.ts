// Calls that ride out a restart of the server at the other end.

import { sleepMs } from '../base/clock.js';
import { isTcpxError } from '../base/errors.js';

export interface Persistence {
  /** How long it goes on trying. */
  readonly limitMs: number;
  readonly pauseMs: number;
  /** Whether nobody wants the answer any more. */
  readonly isOver?: () => boolean;
}

/** Tries again after failures that may pass. */
export async function persistently<T>(call: () => Promise<T>, how: Persistence): Promise<T> {
  const stopAtMs = performance.now() + how.limitMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const isWorthwhile = isTcpxError(error) && error.isRetryable && how.isOver?.() !== true;
      if (!isWorthwhile || performance.now() > stopAtMs) throw error;
      await sleepMs(how.pauseMs);
    }
  }
}
