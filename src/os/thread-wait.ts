// Blocking one thread on a word of shared memory until another changes it.

import { waitFutex, wakeFutex } from '../ffi/libc/futex.js';

const EVERYBODY = 0x7fffffff;

/** Returns when the word may have changed or the time is over; the caller looks again. */
export function waitForChange(wordAddr: number, seen: number, timeoutMs: number): void {
  waitFutex(wordAddr, seen, timeoutMs);
}

export function wakeWaiters(wordAddr: number): void {
  wakeFutex(wordAddr, EVERYBODY);
}
