// Waiting for descriptors, with a time limit finer than a millisecond.

import { assert } from '../../base/assert.js';
import { FFI_WAIT_MS_MAX } from './epoll.js';
import { bindFunction, resultOrErrno } from './library.js';
import { scratchAddr, scratchView } from './scratch.js';

const POLLIN = 1;
const POLLOUT = 4;
/** Behind a timespec, in the scratch memory. */
const FDS_OFFSET = 16;
const POLLFD_BYTES = 8;
const FDS_MAX = 4096;

const ppollC = bindFunction<
  (fdsAddr: number, count: number, timeoutAddr: number, signalsAddr: number) => number
>('int ppoll(uintptr_t fds, unsigned long count, uintptr_t timeout, uintptr_t signals)');

/**
 * Until one of the descriptors can be read, has ended or failed: how many, 0 after the time (at
 * most FFI_WAIT_MS_MAX), or −errno.
 */
export function waitReadable(fds: readonly number[], timeoutMs: number): number {
  return waitFor(fds, POLLIN, timeoutMs);
}

/** The same until something can be written. */
export function waitWritable(fd: number, timeoutMs: number): number {
  return waitFor([fd], POLLOUT, timeoutMs);
}

function waitFor(fds: readonly number[], events: number, timeoutMs: number): number {
  const waitMs = Math.min(timeoutMs, FFI_WAIT_MS_MAX);
  assert(fds.length <= FDS_MAX, `${fds.length} descriptors, at most ${FDS_MAX}`);
  for (const [index, fd] of fds.entries()) {
    const at = FDS_OFFSET + index * POLLFD_BYTES;
    scratchView.setInt32(at, fd, true);
    scratchView.setInt16(at + 4, events, true);
    scratchView.setInt16(at + 6, 0, true);
  }
  scratchView.setUint32(0, Math.floor(waitMs / 1000), true);
  scratchView.setUint32(4, 0, true);
  scratchView.setUint32(8, (waitMs % 1000) * 1e6, true);
  scratchView.setUint32(12, 0, true);
  return resultOrErrno(ppollC(scratchAddr + FDS_OFFSET, fds.length, scratchAddr, 0));
}
