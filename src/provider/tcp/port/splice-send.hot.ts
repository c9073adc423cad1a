// Sending by splice: runs of large ranges go as references to their pages, through a pipe; what
// lies between them is copied and held back (MSG_MORE) until they follow. The kernel reads the
// pages when the NIC, or on one host the peer, takes them: they are held until the peer has
// confirmed them.

import {
  EFAULT,
  EINTR,
  EINVAL,
  EIO,
  ENOMEM,
  ENOSYS,
  EOPNOTSUPP,
  EPERM,
} from '../../../ffi/libc/errno.js';
import { iovAddr, iovBytes, MSG_MORE, sendVector, setIov } from '../../../ffi/libc/message.hot.js';
import type { IovTable } from '../../../ffi/libc/message.js';
import { emptyPipe, fillPipe } from '../../../ffi/libc/splice.hot.js';
import type { SpliceState } from './splice-state.js';
import {
  WOULD_BLOCK,
  ZERO_COPY_BYTES_MIN,
  ZERO_COPY_DONE,
  ZERO_COPY_FALLBACKS,
  ZERO_COPY_SENDS,
} from './stream-port.js';

/** A shorter run is copied: that costs less than the two calls. */
export const SPLICE_BYTES_MIN = 64 * 1024;

/** Whether something of it might go by reference. */
export function hasLargeRange(table: IovTable, first: number, count: number): boolean {
  for (let index = first; index < count; index++) {
    if (iovBytes(table, index) >= ZERO_COPY_BYTES_MIN) return true;
  }
  return false;
}

/** As StreamPort.send with `isHeld`. */
export function sendSpliced(state: SpliceState, first: number, count: number): number {
  let total = 0;
  state.index = first;
  state.doneBytes = 0;
  while (state.index < count) {
    const sent = state.pipeBytes > 0 ? drain(state, count) : sendRun(state, count);
    if (sent < 0) return total === 0 ? sent : total;
    total += sent;
    state.sentBytes += sent;
    advance(state, count, sent);
    // A short copy means a full socket. A pipe that was not emptied need not: signals do that too.
    if (state.pipeBytes === 0 && sent < state.runBytes) return total;
  }
  return total;
}

// Neighbours of one kind; runBytes is what should go now.
function sendRun(state: SpliceState, count: number): number {
  if (state.isRefused) return sendCopies(state, count);
  const { fd, table, counters, index } = state;
  const isLarge = state.doneBytes > 0 || iovBytes(table, index) >= ZERO_COPY_BYTES_MIN;
  const end = endOfRun(state, count, isLarge);
  state.isMore = end < count;
  const isPart = state.doneBytes > 0;
  if (isPart || (isLarge && state.runBytes >= SPLICE_BYTES_MIN)) {
    const taken = fill(state, end);
    if (taken > 0) {
      counters[ZERO_COPY_SENDS] = counters[ZERO_COPY_SENDS]! + 1;
      counters[ZERO_COPY_DONE] = counters[ZERO_COPY_DONE]! + 1;
      state.isMore = state.isMore || taken < state.runBytes;
      state.pipeBytes = taken;
      return drain(state, count);
    }
    // Memory without pages that can be referred to: a device's, say.
    counters[ZERO_COPY_FALLBACKS] = counters[ZERO_COPY_FALLBACKS]! + 1;
    if (isPart) return sendVector(fd, state.part, 0, end - index, state.isMore ? MSG_MORE : 0);
  }
  return sendVector(fd, table, index, end - index, state.isMore ? MSG_MORE : 0);
}

// The first entry that is not of the same kind; leaves the bytes before it in runBytes.
function endOfRun(state: SpliceState, count: number, isLarge: boolean): number {
  let bytes = -state.doneBytes;
  let index = state.index;
  for (; index < count; index++) {
    const entryBytes = iovBytes(state.table, index);
    const isOther = entryBytes >= ZERO_COPY_BYTES_MIN !== isLarge;
    if (isOther && (index > state.index || state.doneBytes === 0)) break;
    bytes += entryBytes;
  }
  state.runBytes = bytes;
  return index;
}

// As much of the run as the pipe has room for: bytes, or −errno.
function fill(state: SpliceState, end: number): number {
  setPart(state, end);
  return fillPipe(state.writeFd, state.part, end - state.index);
}

// The entries before `end` without what has gone; returns their bytes.
function setPart(state: SpliceState, end: number): number {
  const { table, part, index } = state;
  let total = 0;
  for (let at = index; at < end; at++) {
    const skip = at === index ? state.doneBytes : 0;
    const bytes = iovBytes(table, at) - skip;
    setIov(part, at - index, iovAddr(table, at) + skip, bytes);
    total += bytes;
  }
  return total;
}

function drain(state: SpliceState, count: number): number {
  const bytes = state.pipeBytes;
  state.runBytes = bytes;
  const sent = emptyPipe(state.readFd, state.fd, bytes, state.isMore);
  if (sent === -EINTR) return 0;
  if (isRefusal(sent)) {
    // Counted as one that had gone when the pipe took it.
    const { counters } = state;
    counters[ZERO_COPY_SENDS] = counters[ZERO_COPY_SENDS]! - 1;
    counters[ZERO_COPY_DONE] = counters[ZERO_COPY_DONE]! - 1;
    counters[ZERO_COPY_FALLBACKS] = counters[ZERO_COPY_FALLBACKS]! + 1;
    state.refuse();
    return sendCopies(state, count);
  }
  if (sent <= 0) return sent === 0 ? WOULD_BLOCK : sent;
  state.pipeBytes = bytes - sent;
  state.referredBytes = state.sentBytes + sent;
  return sent;
}

// A connection that has failed says so by other numbers, here and when copies are sent.
function isRefusal(sent: number): boolean {
  switch (-sent) {
    case EINVAL:
    case EFAULT:
    case EIO:
    case ENOMEM:
    case EPERM:
    case ENOSYS:
    case EOPNOTSUPP:
      return true;
    default:
      return false;
  }
}

function sendCopies(state: SpliceState, count: number): number {
  state.runBytes = setPart(state, count);
  return sendVector(state.fd, state.part, 0, count - state.index, 0);
}

function advance(state: SpliceState, count: number, bytes: number): void {
  let left = state.doneBytes + bytes;
  while (state.index < count) {
    const entryBytes = iovBytes(state.table, state.index);
    if (left < entryBytes) break;
    left -= entryBytes;
    state.index++;
  }
  state.doneBytes = left;
}
