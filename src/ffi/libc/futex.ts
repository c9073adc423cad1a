// Sleeping on a word of mapped memory: Atomics.wait does not accept memory from outside V8.

import { FFI_WAIT_MS_MAX } from './epoll.js';
import { bindFunction, checkCall, resultOrErrno } from './library.js';
import { scratchAddr, scratchView } from './scratch.js';

const SYS_FUTEX = process.arch === 'x64' ? 202 : 98;
const FUTEX_WAIT = 0;
const FUTEX_WAKE = 1;
const TIMESPEC_OFFSET = 512;

const syscallC = bindFunction<
  (
    number: number,
    addr: number,
    op: number,
    value: number,
    timeout: number,
    addr2: number,
    value3: number,
  ) => number
>('int64_t syscall(int64_t n, uintptr_t a, int b, int c, uintptr_t d, uintptr_t e, int f)');

/**
 * Sleeps while the word holds `expected`: 0 when woken, −EAGAIN when the word differs already,
 * −ETIMEDOUT after the time (at most FFI_WAIT_MS_MAX).
 */
export function waitFutex(wordAddr: number, expected: number, timeoutMs: number): number {
  const waitMs = Math.min(timeoutMs, FFI_WAIT_MS_MAX);
  scratchView.setUint32(TIMESPEC_OFFSET, Math.floor(waitMs / 1000), true);
  scratchView.setUint32(TIMESPEC_OFFSET + 4, 0, true);
  scratchView.setUint32(TIMESPEC_OFFSET + 8, (waitMs % 1000) * 1e6, true);
  scratchView.setUint32(TIMESPEC_OFFSET + 12, 0, true);
  return resultOrErrno(
    syscallC(SYS_FUTEX, wordAddr, FUTEX_WAIT, expected, scratchAddr + TIMESPEC_OFFSET, 0, 0),
  );
}

/** Wakes up to `count` sleepers; returns how many were woken. */
export function wakeFutex(wordAddr: number, count: number): number {
  const result = syscallC(SYS_FUTEX, wordAddr, FUTEX_WAKE, count, 0, 0, 0);
  return checkCall('futex wake', '', resultOrErrno(result));
}
