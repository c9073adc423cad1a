// Notices a program that asks again and again without ever returning to the event loop, where some
// things have to happen. Costs a count per question; the clock is read now and then.

import type { Clock } from '../base/clock.js';

/** Questions between two looks at the clock: few against a loop, many against ordinary polling. */
const QUESTIONS_PER_LOOK = 2048;
/** How long the event loop may stand still; connections take a small part of it. */
export const STANDSTILL_MS_MAX = 2000;

export class LoopWatch {
  readonly #clock: Clock;
  #questionCount = 0;
  /** When the event loop was last asked for a sign of life that it has not given yet. */
  #askedUs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a question; true now and then while the event loop has stood still for too long. */
  isStandingStill(): boolean {
    if (++this.#questionCount % QUESTIONS_PER_LOOK !== 0) return false;
    const nowUs = this.#clock.nowUs();
    if (this.#askedUs !== undefined) return nowUs - this.#askedUs >= STANDSTILL_MS_MAX * 1000;
    this.#askedUs = nowUs;
    const sign = setImmediate(() => {
      this.#askedUs = undefined;
    });
    // A program that is done may end.
    sign.unref();
    return false;
  }
}
