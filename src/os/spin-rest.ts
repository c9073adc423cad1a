// Whoever looks again and again yields its core in between. Where another thread wants that core
// and never sleeps, as a program that polls does, one yield costs that thread's time slice, while
// a thread that sleeps is woken soon. So whoever has lost time that way rests from looking: it
// sleeps at once instead, and tries again after a time that grows with every loss.
// The C library has the same rule (native/p2p/look.c).

import { type Clock, systemClock } from '../base/clock.js';
import { FLOAT_ZERO } from '../base/float-zero.js';
import { yieldCpu } from './thread.js';

/** Threads that take turns need less; a time slice is longer. */
export const YIELD_US_MAX = 500;
export const REST_US_MIN = 1000;
export const REST_US_MAX = 500_000;
/** Who has looked for so many times what a loss costs has gained by it, whatever came before. */
const PEACE_PER_LOSS = 8;

/**
 * How long to rest after a yield of `yieldUs`, 0 for not at all. `restUs`: how long it rested the
 * last time; `soundUs`: for how long it has looked since, without a loss. Idle time says nothing:
 * only one that has looked in peace for as long as it rested, or for long enough to be worth the
 * loss, begins anew. A compiler or collector thread takes a core twice a second.
 */
export function nextRestUs(restUs: number, soundUs: number, yieldUs: number): number {
  if (yieldUs <= YIELD_US_MAX) return 0;
  if (soundUs >= Math.min(restUs, PEACE_PER_LOSS * yieldUs)) return REST_US_MIN;
  return Math.min(REST_US_MAX, restUs * 2);
}

/** Of one thread. */
export class SpinRest {
  readonly #clock: Clock;
  readonly #yieldCpu: () => void;
  #restUs = FLOAT_ZERO;
  #soundUs = FLOAT_ZERO;
  #untilUs = FLOAT_ZERO;
  /** When the last yield ended. */
  #lastUs = FLOAT_ZERO;

  constructor(clock: Clock = systemClock, giveWay: () => void = yieldCpu) {
    this.#clock = clock;
    this.#yieldCpu = giveWay;
  }

  /** Whether it should sleep instead of looking again. */
  isResting(nowUs: number): boolean {
    return nowUs < this.#untilUs;
  }

  /** Lets others have the core, and sees how long they took. */
  yield(): void {
    const startUs = this.#clock.nowUs();
    this.#yieldCpu();
    const endUs = this.#clock.nowUs();
    const restUs = nextRestUs(this.#restUs, this.#soundUs, endUs - startUs);
    if (restUs === 0) {
      const isNext = startUs - this.#lastUs <= YIELD_US_MAX;
      this.#soundUs += endUs - (isNext ? this.#lastUs : startUs);
    } else {
      this.#restUs = restUs;
      this.#soundUs = FLOAT_ZERO;
      this.#untilUs = endUs + restUs;
    }
    this.#lastUs = endUs;
  }
}
