// Two threads that sleep until the other wakes them: what a wake-up costs from the call that wakes
// to the first instruction after the sleep.

import { openFixedMemory } from '../os/fixed-memory.js';
import { waitForChange, wakeWaiters } from '../os/thread-wait.js';

const TRIPS_MAX = 5_000;
const LIMIT_MS = 200;
const WAIT_MS = 50;
const THEIRS = 1;
const OURS = 0;
const ENDED = -1;
/** A partner that does not answer for so long is gone. */
const SILENCE_MS = 5_000;

/** One way, in microseconds. Ends the other thread's part when done. */
export function throwWakes(addr: number, bytes: number): number {
  const { int32 } = openFixedMemory(addr, bytes);
  try {
    play(int32, addr);
    const { trips, spentMs } = play(int32, addr);
    return (spentMs / trips / 2) * 1e3;
  } finally {
    Atomics.store(int32, 0, ENDED);
    wakeWaiters(addr);
  }
}

function play(words: Int32Array, addr: number): { trips: number; spentMs: number } {
  const beganMs = performance.now();
  let trips = 0;
  let spentMs = 0;
  while (trips < TRIPS_MAX && spentMs < LIMIT_MS) {
    Atomics.store(words, 0, THEIRS);
    wakeWaiters(addr);
    const thrownMs = performance.now();
    while (Atomics.load(words, 0) === THEIRS) {
      waitForChange(addr, THEIRS, WAIT_MS);
      if (performance.now() - thrownMs > SILENCE_MS) throw new Error('nobody answers');
    }
    trips++;
    spentMs = performance.now() - beganMs;
  }
  return { trips, spentMs };
}

export function answerWakes(addr: number, bytes: number): void {
  const { int32 } = openFixedMemory(addr, bytes);
  for (;;) {
    const seen = Atomics.load(int32, 0);
    if (seen === ENDED) return;
    if (seen === OURS) {
      waitForChange(addr, OURS, WAIT_MS);
      continue;
    }
    // The other end may have ended it meanwhile: that word stays.
    Atomics.compareExchange(int32, 0, THEIRS, OURS);
    wakeWaiters(addr);
  }
}
