// Waiting for one descriptor, with a time limit finer than a millisecond.

import { bindFunction, resultOrErrno } from './library.js';
import { FFI_WAIT_MS_MAX } from './epoll.js';
import { scratchAddr, scratchView } from './scratch.js';

const POLLIN = 1;
const POLLOUT = 4;
const TIMESPEC_OFFSET = 16;

const ppollC = bindFunction<
  (fdsAddr: number, count: number, timeoutAddr: number, signalsAddr: number) => number
>('int ppoll(uintptr_t fds, unsigned long count, uintptr_t timeout, uintptr_t signals)');

/** Until something can be read: 1, 0 after the time (at most FFI_WAIT_MS_MAX), or −errno. */
export function waitReadable(fd: number, timeoutMs: number): number {
  return waitFor(fd, POLLIN, timeoutMs);
}

/** The same until something can be written. */
export function waitWritable(fd: number, timeoutMs: number): number {
  return waitFor(fd, POLLOUT, timeoutMs);
}

function waitFor(fd: number, events: number, timeoutMs: number): number {
  const waitMs = Math.min(timeoutMs, FFI_WAIT_MS_MAX);
  scratchView.setInt32(0, fd, true);
  scratchView.setInt16(4, events, true);
  scratchView.setInt16(6, 0, true);
  scratchView.setUint32(TIMESPEC_OFFSET, Math.floor(waitMs / 1000), true);
  scratchView.setUint32(TIMESPEC_OFFSET + 4, 0, true);
  scratchView.setUint32(TIMESPEC_OFFSET + 8, (waitMs % 1000) * 1e6, true);
  scratchView.setUint32(TIMESPEC_OFFSET + 12, 0, true);
  return resultOrErrno(ppollC(scratchAddr, 1, scratchAddr + TIMESPEC_OFFSET, 0));
}
