// The peer's reads: queued, answered from where the bytes lie, held, let go. An answer that may
// leave by reference holds its region until the peer has it, because the kernel, here or at a peer
// on the same host, reads the pages when they are taken. A request n says by itself that the
// answers up to n − window have landed; the last ones are confirmed by an ACK, once no more is
// asked for.

import { assert } from '../../../base/assert.js';
import { closeAccess } from '../../../memory/region-access.hot.js';
import { crc32At } from '../../../os/fixed-memory.js';
import {
  FLAG_HELD,
  FRAME_READ_DATA,
  FRAME_READ_REQUEST,
  WORD_COPY_US,
  WORD_KIND,
  WORD_OPERATION_BYTES,
} from '../../../wire/data-frame.js';
import { ZERO_COPY_BYTES_MIN } from '../port/stream-port.js';
import type { Channel } from './channel.js';
import { FLIGHT_MASK, FLIGHT_SLOTS } from './flight.js';
import { keepAnswer } from './held-slots.hot.js';
import type { Intake } from './intake.js';
import type { LaneCore } from './lane-core.js';
import {
  beginFrame,
  copyVector,
  frameRefusal,
  pushVector,
  writeChecksum,
} from './send-vector.hot.js';
import { freeAnswer, servedAddr, servedCopyUs } from './served-copies.hot.js';
import { HELD_BYTES_MIN, nextPlace, type ServedReads } from './served-reads.js';

/** A read of `bytes` from the region that is open, at the places in the intake's segments. */
export function addServed(
  channel: Channel,
  region: number,
  bytes: number,
  isCopied: boolean,
): void {
  const { served, intake } = channel;
  const slot = nextServed(served);
  keepPlaces(served, slot, intake);
  served.region[slot] = region;
  served.bytes[slot] = bytes;
  served.copied[slot] = isCopied ? 1 : 0;
  served.segments[slot] = intake.segmentCount;
  served.tail = (served.tail + 1) | 0;
}

function keepPlaces(served: ServedReads, slot: number, intake: Intake): void {
  const count = intake.segmentCount;
  assert(served.placesHeld + count <= served.placesMax, 'the places of a window have room');
  if (served.placesHeld === 0) served.placesTail = 0;
  const floats = served.memory.float64;
  let place = served.placesTail;
  served.placeAt[slot] = place;
  served.placeCount[slot] = count;
  for (let index = 0; index < count; index++) {
    floats[place * 2] = intake.segmentAddr[index]!;
    floats[place * 2 + 1] = intake.segmentBytes[index]!;
    place = nextPlace(served, place);
  }
  served.placesTail = place;
  served.placesHeld += count;
}

// Once it is framed, the vector knows them.
function dropPlaces(served: ServedReads, slot: number): void {
  served.placesHeld -= served.placeCount[slot]!;
}

/** Answers come in the order of the requests, refusals among them: it waits in the same queue. */
export function addServedRefusal(served: ServedReads, reason: number): void {
  const slot = nextServed(served);
  served.region[slot] = -1;
  served.bytes[slot] = 0;
  served.segments[slot] = reason;
  served.placeCount[slot] = 0;
  served.tail = (served.tail + 1) | 0;
}

function nextServed(served: ServedReads): number {
  assert(((served.tail - served.done) | 0) < FLIGHT_SLOTS, 'a read that came has a place');
  return served.tail & FLIGHT_MASK;
}

/** The oldest read that is not framed: its answer, or why there is none. */
export function frameReadData(core: LaneCore, channel: Channel): void {
  const { served, vector } = channel;
  const slot = served.framed & FLIGHT_MASK;
  served.held[slot] = 0;
  if (served.region[slot]! < 0) {
    frameRefusal(channel, FRAME_READ_REQUEST, served.framed, served.segments[slot]!);
  } else {
    frameAnswer(core, channel, slot);
  }
  dropPlaces(served, slot);
  served.endAt[slot] = vector.sentBytes + vector.bytes;
  served.framed = (served.framed + 1) | 0;
}

function frameAnswer(core: LaneCore, channel: Channel, slot: number): void {
  const { served, vector } = channel;
  const bytes = served.bytes[slot]!;
  const word = beginFrame(channel, FRAME_READ_DATA, bytes, served.framed);
  vector.heads.uint32[word + WORD_OPERATION_BYTES] = bytes;
  const stagedAddr = servedAddr(channel, slot);
  const { isChecked } = channel;
  let sum = 0;
  if (stagedAddr !== 0) {
    pushVector(channel, stagedAddr, bytes);
    vector.heads.uint32[word + WORD_COPY_US] = servedCopyUs(core, channel, slot);
    if (isChecked) sum = crc32At(0, stagedAddr, bytes);
    const isReferred = keepAnswer(core, channel, served.device[slot]!, served.slot[slot]!, bytes);
    if (isReferred) markHeld(channel, slot, word);
  } else {
    sum = pushSegments(channel, slot, word);
  }
  if (isChecked) writeChecksum(vector, word, sum);
}

// Returns the checksum, where one is wanted.
function pushSegments(channel: Channel, slot: number, word: number): number {
  const { served, isChecked } = channel;
  const floats = served.memory.float64;
  const count = served.segments[slot]!;
  let place = served.placeAt[slot]!;
  let isLarge = false;
  let sum = 0;
  for (let index = 0; index < count; index++) {
    const addr = floats[place * 2]!;
    const bytes = floats[place * 2 + 1]!;
    place = nextPlace(served, place);
    pushVector(channel, addr, bytes);
    if (isChecked) sum = crc32At(sum, addr, bytes);
    if (bytes >= ZERO_COPY_BYTES_MIN) isLarge = true;
  }
  // A port that refers to nothing hears of small ranges too.
  if (isLarge || !channel.port.isByReference) hold(channel, slot, word);
  return sum;
}

function hold(channel: Channel, slot: number, word: number): void {
  const { served, vector } = channel;
  const isAsked = served.copied[slot] === 1;
  const isShort = served.bytes[slot]! < HELD_BYTES_MIN;
  // The checksum is of the bytes as they are now: its owner may change them while they are read.
  const mayHold = channel.port.isByReference && !isShort && !channel.isChecked;
  if (mayHold && !isAsked) markHeld(channel, slot, word);
  else if (isAsked || channel.port.isByReference) copyVector(vector);
}

// The peer confirms the answer, and until then its bytes stay as they are.
function markHeld({ served, vector }: Channel, slot: number, word: number): void {
  served.held[slot] = 1;
  vector.heads.uint32[word + WORD_KIND] = FRAME_READ_DATA | FLAG_HELD;
}

/** Lets go, in order, of what was copied into the kernel and of what the peer has confirmed. */
export function freeServed(core: LaneCore, channel: Channel): void {
  const { served } = channel;
  while (served.done !== served.framed) {
    const slot = served.done & FLIGHT_MASK;
    const isFree =
      served.held[slot] === 0
        ? served.endAt[slot]! <= channel.vector.sentBytes
        : ((served.confirmed - served.done) | 0) > 0;
    if (!isFree) return;
    if (served.held[slot] !== 0) freeAnswer(channel, slot);
    if (served.region[slot]! >= 0) closeAccess(core.regions, served.region[slot]!);
    served.done = (served.done + 1) | 0;
  }
}

/** `count` answers have landed at the peer; false when that many were not sent. */
export function confirmServed(core: LaneCore, channel: Channel, count: number): boolean {
  const { served } = channel;
  const fresh = (count - served.confirmed) | 0;
  if (fresh === 0) return true;
  if (fresh < 0 || fresh > ((served.framed - served.confirmed) | 0)) return false;
  if (served.endAt[(count - 1) & FLIGHT_MASK]! > channel.vector.sentBytes) return false;
  served.confirmed = count | 0;
  freeServed(core, channel);
  return true;
}

/** The channel has ended: what the peer may still read is held until the peer has ended it too. */
export function dropServed(core: LaneCore, channel: Channel): void {
  const { served } = channel;
  for (let at = served.done; at !== served.tail; at = (at + 1) | 0) {
    const slot = at & FLIGHT_MASK;
    const isFramed = ((served.framed - at) | 0) > 0;
    if (isFramed && served.held[slot] !== 0) continue;
    if (served.region[slot]! >= 0) closeAccess(core.regions, served.region[slot]!);
    served.region[slot] = -1;
  }
}

/** The peer has ended the channel too, or the session is over. */
export function forgetServed(core: LaneCore, channel: Channel): void {
  const { served } = channel;
  for (; served.done !== served.tail; served.done = (served.done + 1) | 0) {
    const region = served.region[served.done & FLIGHT_MASK]!;
    if (region >= 0) closeAccess(core.regions, region);
  }
}
