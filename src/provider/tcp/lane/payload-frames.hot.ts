// Frames that move bytes: a WRITE and the answer to an own read are placed, a READ_REQUEST waits to
// be answered. What is not granted is refused, and its payload dropped.

import { FAIL_BOUNDS, FAIL_DEVICE, FAIL_NONE, FAIL_PEER_DEVICE } from '../../../base/failure.js';
import {
  CHUNK_BYTES,
  CHUNK_FIRST_PAIR,
  CHUNK_PAIR_COUNT,
  CHUNK_SKIP,
  ENTRY_FLOATS,
  PAIR_BYTES,
  PAIR_LOCAL_ADDR,
} from '../../../flow/request-layout.js';
import { closeAccess, isInBounds, openAccess } from '../../../memory/region-access.hot.js';
import { RIGHT_READ, RIGHT_WRITE, regionAddr, regionDevice } from '../../../memory/region-table.js';
import { publishRecords, reserveRecord, ringFreeBytes } from '../../../os/record-ring.hot.js';
import { readLong } from '../../../wire/data-frame.hot.js';
import {
  DATA_HEAD_BYTES,
  FLAG_COPIED,
  FLAG_HELD,
  FRAME_READ_DATA,
  FRAME_WRITE,
  TABLE_ENTRY_BYTES,
  WORD_COPY_US,
  WORD_KEY,
  WORD_KIND,
  WORD_OFFSET_LOW,
  WORD_OPERATION_BYTES,
  WORD_PAYLOAD_BYTES,
  WORD_REGION_GENERATION,
  WORD_REGION_SLOT,
  WORD_SEQUENCE,
  WORD_TRANSFER_HIGH,
  WORD_TRANSFER_LOW,
} from '../../../wire/data-frame.js';
import {
  RULE_ANSWER_BYTES,
  RULE_SEQUENCE,
  RULE_UNASKED,
  RULE_WINDOW,
} from '../../../wire/data-frame-rules.js';
import type { Channel } from './channel.js';
import { chunkWordOf, giveBackFlight } from './chunk-confirmed.hot.js';
import { FLIGHT_MASK } from './flight.js';
import {
  aimAtSink,
  beginPayload,
  endSegments,
  expectChecksum,
  noteSequence,
  setSegment,
} from './intake.hot.js';
import { NO_REGION } from './intake.js';
import { aimAtSlot, SLOT_FREE, SLOT_NEVER, SLOT_NONE_YET, slotFor } from './landing.hot.js';
import type { LaneCore } from './lane-core.js';
import {
  EVENT_RESERVE_BYTES,
  LANE_DRAINED,
  TRANSFER_FAILURE,
  TRANSFER_PAIRS_AT,
  TRANSFER_PEER_COPY_US,
  transferFloat,
  transferWord,
} from './layout.js';
import { EVENT_REFUSED } from './messages.js';
import { addStageUs, chunkDevice } from './out-copies.hot.js';
import { drainRead, isAnswerOwed, wantConfirm } from './own-reads.hot.js';
import { addRefusal, noteTransfer } from './refusals.hot.js';
import { addServed, addServedRefusal, confirmServed } from './served-reads.hot.js';
import { failTransfer } from './transfer-progress.hot.js';
import { FRAME_TAKEN, FRAME_WAITS, TURN_RULE } from './turn.js';

export function onWrite(core: LaneCore, channel: Channel, word: number, entries: number): number {
  const { intake, arrivals, refusals } = channel;
  const words = intake.staging.uint32;
  const sequence = words[word + WORD_SEQUENCE]!;
  if (sequence !== arrivals.arrived >>> 0) return TURN_RULE - RULE_SEQUENCE;
  if (((arrivals.arrived - arrivals.landed) | 0) >= channel.windowChunks) {
    return TURN_RULE - RULE_WINDOW;
  }
  const region = words[word + WORD_REGION_SLOT]!;
  const device = regionDevice(core.regions, region);
  const room = device === 0 ? SLOT_FREE : slotFor(channel, device);
  if (room === SLOT_NONE_YET) return FRAME_WAITS;
  // More refusals wait than writes may be in flight: the peer ignores its window.
  if (refusals.count >= channel.windowChunks) return TURN_RULE - RULE_WINDOW;
  const bytes = words[word + WORD_PAYLOAD_BYTES]!;
  const refusal =
    room === SLOT_NEVER
      ? FAIL_PEER_DEVICE
      : openSegments(core, channel, word, entries, RIGHT_WRITE);
  noteSequence(intake, sequence | 0);
  if (refusal !== FAIL_NONE) {
    beginPayload(intake, FRAME_WRITE, NO_REGION, bytes);
    addRefusal(refusals, sequence, refusal);
    rememberRefusal(core, channel, word, refusal);
    drainPayload(core, channel);
    return FRAME_TAKEN;
  }
  beginPayload(intake, FRAME_WRITE, region, bytes);
  if (device !== 0) {
    const low = words[word + WORD_TRANSFER_LOW]!;
    aimAtSlot(channel, device, low, words[word + WORD_TRANSFER_HIGH]!);
  }
  if (channel.isChecked) expectChecksum(intake, words[word + WORD_OPERATION_BYTES]!);
  return FRAME_TAKEN;
}

export function onReadData(core: LaneCore, channel: Channel, word: number): number {
  const { intake, reads } = channel;
  const words = intake.staging.uint32;
  if (!isAnswerOwed(reads)) return TURN_RULE - RULE_UNASKED;
  if (words[word + WORD_SEQUENCE]! !== reads.arrived >>> 0) return TURN_RULE - RULE_SEQUENCE;
  if ((words[word + WORD_KIND]! & FLAG_HELD) !== 0) wantConfirm(reads);
  const flight = reads.arrived & FLIGHT_MASK;
  const slot = reads.transfer[flight]!;
  const chunkWord = chunkWordOf(core, slot, reads.chunk[flight]!);
  const bytes = core.uint32[chunkWord + CHUNK_BYTES]!;
  if (words[word + WORD_PAYLOAD_BYTES]! !== bytes) return TURN_RULE - RULE_ANSWER_BYTES;
  const device = chunkDevice(core, slot, chunkWord);
  const room = device === 0 ? SLOT_FREE : slotFor(channel, device);
  if (room === SLOT_NONE_YET) return FRAME_WAITS;
  if (room === SLOT_NEVER) failTransfer(core, slot, FAIL_DEVICE);
  beginPayload(intake, FRAME_READ_DATA, NO_REGION, bytes);
  if (core.int32[transferWord(core.transfersAt, slot, TRANSFER_FAILURE)] !== 0) {
    giveBackFlight(core, channel, slot, reads.chunk[flight]!);
    drainRead(reads, flight);
    drainPayload(core, channel);
    return FRAME_TAKEN;
  }
  aimAtPairs(core, channel, slot, chunkWord);
  const copyUs = words[word + WORD_COPY_US]!;
  if (copyUs !== 0) addStageUs(core, slot, TRANSFER_PEER_COPY_US, copyUs);
  if (device !== 0) aimAtSlot(channel, device, 0, 0);
  if (channel.isChecked) expectChecksum(intake, words[word + WORD_OPERATION_BYTES]!);
  return FRAME_TAKEN;
}

export function onReadRequest(
  core: LaneCore,
  channel: Channel,
  word: number,
  entries: number,
): number {
  const { served } = channel;
  const words = channel.intake.staging.uint32;
  if (words[word + WORD_SEQUENCE]! !== served.tail >>> 0) return TURN_RULE - RULE_SEQUENCE;
  // Whoever asks again has the answers of a window ago.
  const landed = (served.tail - channel.windowChunks + 1) | 0;
  const isTold = ((served.confirmed - landed) | 0) >= 0;
  if (!isTold && !confirmServed(core, channel, landed)) return TURN_RULE - RULE_WINDOW;
  const refusal = openSegments(core, channel, word, entries, RIGHT_READ);
  if (refusal !== FAIL_NONE) {
    rememberRefusal(core, channel, word, refusal);
    addServedRefusal(served, refusal);
    return FRAME_TAKEN;
  }
  const bytes = words[word + WORD_OPERATION_BYTES]!;
  const isAsked = (words[word + WORD_KIND]! & FLAG_COPIED) !== 0;
  const isCopied = isAsked && (core.isWayOpen || !channel.port.isByReference);
  addServed(channel, words[word + WORD_REGION_SLOT]!, bytes, isCopied);
  return FRAME_TAKEN;
}

// Opens the region that a frame names and lists the places in it; 0, or why it is refused.
function openSegments(
  core: LaneCore,
  channel: Channel,
  word: number,
  entries: number,
  right: number,
): number {
  const { intake } = channel;
  const words = intake.staging.uint32;
  const slot = words[word + WORD_REGION_SLOT]!;
  const generation = words[word + WORD_REGION_GENERATION]!;
  const access = openAccess(core.regions, slot, generation, words, word + WORD_KEY, right);
  if (access !== FAIL_NONE) return access;
  const base = regionAddr(core.regions, slot);
  // A WRITE may carry a checksum where its length stands otherwise.
  const wholeBytes =
    words[word + (right === RIGHT_WRITE ? WORD_PAYLOAD_BYTES : WORD_OPERATION_BYTES)]!;
  const count = entries === 0 ? 1 : entries;
  let entry = entries === 0 ? word + WORD_OFFSET_LOW : word + DATA_HEAD_BYTES / 4;
  for (let index = 0; index < count; index++) {
    const offset = readLong(words, entry);
    const bytes = entries === 0 ? wholeBytes : words[entry + 2]!;
    if (!isInBounds(core.regions, slot, offset, bytes)) {
      closeAccess(core.regions, slot);
      return FAIL_BOUNDS;
    }
    setSegment(intake, index, base + offset, bytes);
    entry += TABLE_ENTRY_BYTES / 4;
  }
  endSegments(intake, count);
  return FAIL_NONE;
}

// Where an own read lands is taken from our own request, never from the peer.
function aimAtPairs(core: LaneCore, channel: Channel, slot: number, chunkWord: number): void {
  const { intake } = channel;
  const floats = core.float64;
  const pairsAt = floats[transferFloat(core.transfersAt, slot, TRANSFER_PAIRS_AT)]!;
  const count = core.uint32[chunkWord + CHUNK_PAIR_COUNT]!;
  let pair =
    (core.arenaAt + pairsAt) / 8 + core.uint32[chunkWord + CHUNK_FIRST_PAIR]! * ENTRY_FLOATS;
  let skip = floats[chunkWord / 2 + CHUNK_SKIP]!;
  let left = core.uint32[chunkWord + CHUNK_BYTES]!;
  for (let index = 0; index < count; index++) {
    const available = floats[pair + PAIR_BYTES]! - skip;
    const bytes = available < left ? available : left;
    setSegment(intake, index, floats[pair + PAIR_LOCAL_ADDR]! + skip, bytes);
    left -= bytes;
    skip = 0;
    pair += ENTRY_FLOATS;
  }
  endSegments(intake, count);
}

// Refused bytes are read and dropped: the stream goes on behind them.
function drainPayload(core: LaneCore, channel: Channel): void {
  const drained = core.controlAt / 8 + LANE_DRAINED;
  core.float64[drained] = core.float64[drained]! + channel.intake.payloadLeft;
  aimAtSink(channel.intake, core.sink.addr);
}

// The owner's log names the peer; the transfer's notification must not be delivered.
function rememberRefusal(core: LaneCore, channel: Channel, word: number, reason: number): void {
  const words = channel.intake.staging.uint32;
  const low = words[word + WORD_TRANSFER_LOW]!;
  if (!noteTransfer(channel.refusals, low, words[word + WORD_TRANSFER_HIGH]!)) return;
  if (ringFreeBytes(core.events) < EVENT_RESERVE_BYTES) return;
  const at = reserveRecord(core.events, EVENT_REFUSED, 16) >> 2;
  core.int32[at] = channel.sessionIndex;
  core.int32[at + 1] = channel.channelIndex;
  core.int32[at + 2] = reason;
  core.int32[at + 3] = words[word + WORD_REGION_SLOT]!;
  publishRecords(core.events);
  core.hasNews = true;
}
