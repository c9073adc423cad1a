// Blocking the calling thread until a transfer may have finished. It looks again for a while, as
// long as transfers tend to finish within that time, and then sleeps on a word that lanes change,
// or in the set of this thread's own lane: a wake-up takes longer than a small transfer.

import type { Clock } from '../base/clock.js';
import type { FixedMemory } from '../os/fixed-memory.js';
import { SpinRest } from '../os/spin-rest.js';
import { waitForChange } from '../os/thread-wait.js';
import { ENGINE_FINISHED, ENGINE_WAITERS } from '../provider/tcp/lane/layout.js';
import { nextSpinUs } from '../provider/tcp/lane/spin.js';

/** Other events than a finished transfer do not change that word, and the caller has timers. */
const SLICE_MS = 10;

interface Sleeper {
  /** Until something comes, or the time is over. */
  sleep(timeoutMs: number): void;
}

export class FinishWait {
  readonly #shared: FixedMemory;
  readonly #look: () => number;
  readonly #spinLimitUs: number;
  readonly #clock: Clock;
  readonly #rest: SpinRest;
  #spinUs: number;

  /** `look` handles what lanes have to tell. `spinLimitUs`: at most; see nextSpinUs. */
  constructor(
    shared: FixedMemory,
    spinLimitUs: number,
    clock: Clock,
    look: () => number,
    rest = new SpinRest(clock),
  ) {
    this.#shared = shared;
    this.#look = look;
    this.#spinLimitUs = spinLimitUs;
    this.#clock = clock;
    this.#rest = rest;
    this.#spinUs = spinLimitUs;
  }

  /**
   * Returns when something has happened, or some of the time is over; the caller looks again.
   * `sleeper`: what would be told of the answer, where lanes would not.
   */
  wait(timeoutMs: number, sleeper?: Sleeper): void {
    const startUs = this.#clock.nowUs();
    const sliceUs = Math.min(timeoutMs, SLICE_MS) * 1000;
    const spinUs = Math.min(this.#spinUs, sliceUs);
    let nowUs = startUs;
    while (nowUs - startUs < spinUs && !this.#rest.isResting(nowUs)) {
      if (this.#look() > 0) return;
      // Lanes may be waiting for this core.
      this.#rest.yield();
      nowUs = this.#clock.nowUs();
    }
    const isTold = this.#sleep(sliceUs / 1000, sleeper);
    // A wait that its caller cut short says nothing.
    if (!isTold && timeoutMs * 1000 < this.#spinLimitUs) return;
    const waitedUs = isTold ? this.#clock.nowUs() - startUs : Number.POSITIVE_INFINITY;
    this.#spinUs = nextSpinUs(this.#spinUs, waitedUs, this.#spinLimitUs);
  }

  // Whether something came.
  #sleep(sliceMs: number, sleeper: Sleeper | undefined): boolean {
    if (sleeper !== undefined) {
      sleeper.sleep(sliceMs);
      return this.#look() > 0;
    }
    const { int32, addr } = this.#shared;
    Atomics.add(int32, ENGINE_WAITERS, 1);
    try {
      const seen = Atomics.load(int32, ENGINE_FINISHED);
      if (this.#look() > 0) return true;
      waitForChange(addr + ENGINE_FINISHED * 4, seen, sliceMs);
      return Atomics.load(int32, ENGINE_FINISHED) !== seen;
    } finally {
      Atomics.sub(int32, ENGINE_WAITERS, 1);
    }
  }
}
