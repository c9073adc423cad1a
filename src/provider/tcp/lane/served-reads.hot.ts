// The peer's reads: answered from where the bytes lie, held, let go. An answer that may leave by
// reference holds its region until the peer has it, because the kernel, here or at a peer on the
// same host, reads the pages when they are taken. A request n says by itself that the answers up
// to n − window have landed; the last ones are confirmed by an ACK, once no read is under way.

import { crc32At } from '../../../os/fixed-memory.js';
import { closeAccess } from '../../../memory/region-access.hot.js';
import { ZERO_COPY_BYTES_MIN } from '../port/stream-port.js';
import {
  FLAG_HELD,
  FRAME_READ_DATA,
  FRAME_READ_REQUEST,
  TABLE_ENTRIES_MAX,
  WORD_KIND,
  WORD_OPERATION_BYTES,
} from '../../../wire/data-frame.js';
import { type Channel, FLIGHT_MASK } from './channel.js';
import { beginFrame, frameRefusal, pushVector, writeChecksum } from './frame-writer.hot.js';
import type { LaneCore } from './lane-core.js';
import { servedAddr } from './staging-send.hot.js';

/** A shorter answer is copied: that costs less than to confirm it. */
const HELD_BYTES_MIN = 128 * 1024;

/** The oldest read that is not framed: its answer, or why there is none. */
export function frameReadData(channel: Channel): void {
  const slot = channel.serveFramed & FLIGHT_MASK;
  channel.serveHeld[slot] = 0;
  if (channel.serveRegion[slot]! < 0) {
    const reason = channel.serveSegments[slot]!;
    frameRefusal(channel, FRAME_READ_REQUEST, channel.serveFramed, reason);
  } else {
    frameAnswer(channel, slot);
  }
  channel.serveEndAt[slot] = channel.sentBytes + channel.sendBytes;
  channel.serveFramed = (channel.serveFramed + 1) | 0;
}

function frameAnswer(channel: Channel, slot: number): void {
  const bytes = channel.serveBytes[slot]!;
  const word = beginFrame(channel, FRAME_READ_DATA, bytes, channel.serveFramed);
  channel.heads.uint32[word + WORD_OPERATION_BYTES] = bytes;
  const stagedAddr = servedAddr(channel, slot);
  const isChecked = channel.serveChecked[slot] !== 0;
  let sum = 0;
  if (stagedAddr !== 0) {
    pushVector(channel, stagedAddr, bytes);
    if (isChecked) sum = crc32At(0, stagedAddr, bytes);
  } else {
    sum = pushSegments(channel, slot, word, isChecked);
  }
  if (isChecked) writeChecksum(channel, word, sum);
}

// Returns the checksum, where one is wanted.
function pushSegments(channel: Channel, slot: number, word: number, isChecked: boolean): number {
  const floats = channel.serveMemory.float64;
  const count = channel.serveSegments[slot]!;
  const base = slot * TABLE_ENTRIES_MAX * 2;
  let isLarge = false;
  let sum = 0;
  for (let index = 0; index < count; index++) {
    const addr = floats[base + index * 2]!;
    const bytes = floats[base + index * 2 + 1]!;
    pushVector(channel, addr, bytes);
    if (isChecked) sum = crc32At(sum, addr, bytes);
    if (bytes >= ZERO_COPY_BYTES_MIN) isLarge = true;
  }
  if (isLarge) hold(channel, slot, word);
  return sum;
}

function hold(channel: Channel, slot: number, word: number): void {
  const isShort = channel.serveBytes[slot]! < HELD_BYTES_MIN;
  // The checksum is of the bytes as they are now: its owner may change them while they are read.
  if (isShort || !channel.port.isByReference || channel.serveChecked[slot] !== 0) {
    channel.isVectorCopied = true;
    return;
  }
  channel.serveHeld[slot] = 1;
  channel.heads.uint32[word + WORD_KIND] = FRAME_READ_DATA | FLAG_HELD;
}

/** Lets go, in order, of what was copied into the kernel and of what the peer has confirmed. */
export function freeServed(core: LaneCore, channel: Channel): void {
  while (channel.serveDone !== channel.serveFramed) {
    const slot = channel.serveDone & FLIGHT_MASK;
    const isFree =
      channel.serveHeld[slot] === 0
        ? channel.serveEndAt[slot]! <= channel.sentBytes
        : ((channel.serveConfirmed - channel.serveDone) | 0) > 0;
    if (!isFree) return;
    if (channel.serveRegion[slot]! >= 0) closeAccess(core.regions, channel.serveRegion[slot]!);
    channel.serveDone = (channel.serveDone + 1) | 0;
  }
}

/** `count` answers have landed at the peer; false when that many were not sent. */
export function confirmServed(core: LaneCore, channel: Channel, count: number): boolean {
  const fresh = (count - channel.serveConfirmed) | 0;
  if (fresh === 0) return true;
  if (fresh < 0 || fresh > ((channel.serveFramed - channel.serveConfirmed) | 0)) return false;
  if (channel.serveEndAt[(count - 1) & FLIGHT_MASK]! > channel.sentBytes) return false;
  channel.serveConfirmed = count | 0;
  freeServed(core, channel);
  return true;
}

/** Whether the peer waits to hear of answers, and no request will tell it soon. */
export function isConfirmDue(channel: Channel): boolean {
  return channel.isConfirmWanted && channel.readNext === channel.readDone;
}

/** The channel has ended: what the peer may still read is held until the peer has ended it too. */
export function dropServed(core: LaneCore, channel: Channel): void {
  for (let at = channel.serveDone; at !== channel.serveTail; at = (at + 1) | 0) {
    const slot = at & FLIGHT_MASK;
    const isFramed = ((channel.serveFramed - at) | 0) > 0;
    if (isFramed && channel.serveHeld[slot] !== 0) continue;
    if (channel.serveRegion[slot]! >= 0) closeAccess(core.regions, channel.serveRegion[slot]!);
    channel.serveRegion[slot] = -1;
  }
}

/** The peer has ended the channel too, or the session is over. */
export function forgetServed(core: LaneCore, channel: Channel): void {
  for (; channel.serveDone !== channel.serveTail; channel.serveDone = (channel.serveDone + 1) | 0) {
    const region = channel.serveRegion[channel.serveDone & FLIGHT_MASK]!;
    if (region >= 0) closeAccess(core.regions, region);
  }
}
