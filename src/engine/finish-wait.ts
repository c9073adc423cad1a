// Blocking the calling thread until a transfer may have finished. It looks again for a while, as
// long as transfers tend to finish within that time, and then sleeps on a word that lanes change:
// a wake-up takes longer than a small transfer.

import { systemClock } from '../base/clock.js';
import { ENGINE_FINISHED, ENGINE_WAITERS } from '../lane/layout.js';
import { nextSpinUs } from '../lane/spin.js';
import type { FixedMemory } from '../memory/fixed-memory.js';
import { waitForChange } from '../memory/thread-wait.js';
import { yieldCpu } from '../transport/tcp/thread.js';

/** Other events than a finished transfer do not change that word. */
const SLICE_MS = 10;

export class FinishWait {
  readonly #shared: FixedMemory;
  readonly #takeEvents: () => number;
  readonly #spinLimitUs: number;
  #spinUs: number;

  /** `takeEvents` handles what lanes have told. `spinLimitUs`: at most; see nextSpinUs. */
  constructor(shared: FixedMemory, spinLimitUs: number, takeEvents: () => number) {
    this.#shared = shared;
    this.#takeEvents = takeEvents;
    this.#spinLimitUs = spinLimitUs;
    this.#spinUs = spinLimitUs;
  }

  /** Returns when something has happened, or some of the time is over; the caller looks again. */
  wait(timeoutMs: number): void {
    const startUs = systemClock.nowUs();
    const spinUs = Math.min(this.#spinUs, timeoutMs * 1000);
    while (systemClock.nowUs() - startUs < spinUs) {
      if (this.#takeEvents() > 0) return;
      // Lanes may be waiting for this core.
      yieldCpu();
    }
    this.#sleep(timeoutMs);
    const waitedUs = systemClock.nowUs() - startUs;
    this.#spinUs = nextSpinUs(this.#spinUs, waitedUs, this.#spinLimitUs);
  }

  #sleep(timeoutMs: number): void {
    const { int32, addr } = this.#shared;
    Atomics.add(int32, ENGINE_WAITERS, 1);
    const seen = Atomics.load(int32, ENGINE_FINISHED);
    if (this.#takeEvents() === 0) {
      waitForChange(addr + ENGINE_FINISHED * 4, seen, Math.min(timeoutMs, SLICE_MS));
    }
    Atomics.sub(int32, ENGINE_WAITERS, 1);
  }
}
