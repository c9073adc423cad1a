// Sending with MSG_ZEROCOPY: runs of large ranges go by reference, what lies between them is
// copied and held back (MSG_MORE) until they follow. Reports are counted as they come in; nothing
// waits for them, because the caller keeps those ranges until the peer has confirmed them.

import { ENOBUFS } from '../../../ffi/libc/errno.js';
import { isNoticeCopied, takeNotice } from '../../../ffi/libc/error-queue.hot.js';
import { iovBytes, MSG_MORE, MSG_ZEROCOPY, sendVector } from '../../../ffi/libc/message.hot.js';
import {
  ZERO_COPY_BYTES_MIN,
  ZERO_COPY_COPIED,
  ZERO_COPY_DONE,
  ZERO_COPY_FALLBACKS,
  ZERO_COPY_SENDS,
} from './stream-port.js';
import type { ZeroCopyState } from './zero-copy-state.js';

/** Unreported calls after which the error queue is looked at: reports occupy kernel memory. */
const DRAIN_EVERY = 16;
/** Reports taken at a time; each may speak of many calls. */
const NOTICES_PER_DRAIN = 64;

/** As StreamPort.send with `isHeld`. */
export function sendZeroCopy(state: ZeroCopyState, first: number, count: number): number {
  let total = 0;
  let hasLarge = false;
  let index = first;
  while (index < count) {
    const isLarge = iovBytes(state.table, index) >= ZERO_COPY_BYTES_MIN;
    hasLarge = hasLarge || isLarge;
    const end = endOfRun(state, index, count, isLarge);
    const more = end < count ? MSG_MORE : 0;
    const sent = isLarge
      ? sendLarge(state, index, end, more)
      : sendVector(state.fd, state.table, index, end - index, more);
    if (sent < 0) {
      // What went before counts; the next call meets the same obstacle with nothing to its name.
      if (total === 0) return sent;
      break;
    }
    total += sent;
    if (sent < state.runBytes) break;
    index = end;
  }
  // A vector of heads alone means a quiet moment.
  if (state.pending >= DRAIN_EVERY || (!hasLarge && state.pending > 0)) drainNotices(state);
  return total;
}

// The first entry that is not of the same kind; leaves the bytes before it in runBytes.
function endOfRun(state: ZeroCopyState, first: number, count: number, isLarge: boolean): number {
  let bytes = 0;
  let index = first;
  for (; index < count; index++) {
    const entryBytes = iovBytes(state.table, index);
    if (entryBytes >= ZERO_COPY_BYTES_MIN !== isLarge) break;
    bytes += entryBytes;
  }
  state.runBytes = bytes;
  return index;
}

function sendLarge(state: ZeroCopyState, first: number, end: number, more: number): number {
  const { fd, table, counters } = state;
  const sent = sendVector(fd, table, first, end - first, MSG_ZEROCOPY | more);
  if (sent > 0) {
    state.pending++;
    counters[ZERO_COPY_SENDS] = counters[ZERO_COPY_SENDS]! + 1;
    return sent;
  }
  if (sent !== -ENOBUFS) return sent;
  // No room to note the pages: optmem_max, or the limit of locked memory.
  drainNotices(state);
  counters[ZERO_COPY_FALLBACKS] = counters[ZERO_COPY_FALLBACKS]! + 1;
  return sendVector(fd, table, first, end - first, more);
}

/** Counts the reports that have come. */
export function drainNotices(state: ZeroCopyState): void {
  const { counters } = state;
  for (let taken = 0; taken < NOTICES_PER_DRAIN && state.pending > 0; taken++) {
    const calls = takeNotice(state.fd, state.notice);
    if (calls < 0) return;
    const counter = isNoticeCopied(state.notice) ? ZERO_COPY_COPIED : ZERO_COPY_DONE;
    counters[counter] = counters[counter]! + calls;
    state.pending -= calls;
  }
}
