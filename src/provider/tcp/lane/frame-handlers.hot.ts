// What each frame does: place bytes, serve a read, deliver a notification, retire what is
// acknowledged or refused.

import {
  CHUNK_BYTES,
  CHUNK_FIRST_PAIR,
  CHUNK_PAIR_COUNT,
  CHUNK_SKIP,
  ENTRY_FLOATS,
  PAIR_BYTES,
  PAIR_LOCAL_ADDR,
} from '../../../flow/request-layout.js';
import { copyMemory } from '../../../os/fixed-memory.js';
import {
  ACCESS_BOUNDS,
  ACCESS_GRANTED,
  closeAccess,
  isInBounds,
  openAccess,
} from '../../../memory/region-access.hot.js';
import { RIGHT_READ, RIGHT_WRITE, regionAddr, regionDevice } from '../../../memory/region-table.js';
import { readLong } from '../../../wire/data-frame.hot.js';
import {
  DATA_HEAD_BYTES,
  FLAG_CHECKSUM,
  FLAG_HELD,
  FRAME_ACK,
  FRAME_NOTIFY,
  FRAME_READ_DATA,
  FRAME_READ_REQUEST,
  FRAME_REFUSE,
  FRAME_SIGNAL,
  FRAME_WRITE,
  REFUSE_CHECKSUM,
  REFUSE_DEVICE,
  TABLE_ENTRIES_MAX,
  TABLE_ENTRY_BYTES,
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
import { type Channel, FLIGHT_AGAIN, FLIGHT_DRAINED, FLIGHT_MASK, NO_CHECKSUM } from './channel.js';
import { chunkWordOf, giveBackFlight, onChunkConfirmed } from './chunk-confirmed.hot.js';
import { freeConfirmedSlot } from './held-slots.hot.js';
import {
  addRefusal,
  aimAtSlot,
  onLanded,
  onReadRefused,
  SLOT_FREE,
  SLOT_NEVER,
  SLOT_NONE_YET,
  slotFor,
} from './landing.hot.js';
import { refuseFlight } from './refused-flight.hot.js';
import { confirmServed } from './served-reads.hot.js';
import { type LaneCore, SINK_BYTES } from './lane-core.js';
import {
  ENGINE_NOTIFICATIONS,
  EVENT_RESERVE_BYTES,
  LANE_DRAINED,
  FAIL_DEVICE,
  TRANSFER_FAILURE,
  TRANSFER_PAIRS_AT,
  transferFloat,
  transferWord,
} from './layout.js';
import { EVENT_NOTIFICATION, EVENT_REFUSED, EVENT_SIGNAL } from './messages.js';
import { NOTIFICATION_EVENT_BYTES } from '../../../os/record-ring.js';
import { publishRecords, reserveRecord, ringFreeBytes } from '../../../os/record-ring.hot.js';
import { chunkDevice } from './staging-send.hot.js';
import { confirmChunks, confirmNotify, failTransfer } from './transfer-progress.hot.js';
import { FRAME_TAKEN, FRAME_WAITS, TURN_RULE } from './turn.js';

// Everything up to `acknowledged` has landed at the peer.
export function onAck(core: LaneCore, channel: Channel, acknowledged: number): number {
  const count = (acknowledged - channel.writeAcked) | 0;
  if (count === 0) return FRAME_TAKEN;
  const isMade = count > 0 && count <= ((channel.writeNext - channel.writeAcked) | 0);
  if (!isMade || !channel.hasSent(acknowledged - 1)) return TURN_RULE - RULE_UNASKED;
  for (let index = 0; index < count; index++) {
    const flight = channel.writeAcked & FLIGHT_MASK;
    channel.writeAcked = (channel.writeAcked + 1) | 0;
    const chunk = channel.writeChunk[flight]!;
    const slot = channel.writeTransfer[flight]!;
    if (channel.stage.flightSlot[flight]! >= 0) freeConfirmedSlot(channel, flight);
    if (chunk === FLIGHT_AGAIN) continue;
    if (chunk >= 0) {
      const sentUs = channel.writeSentUs[flight]!;
      onChunkConfirmed(core, channel, slot, chunk, sentUs, channel.writeDeliveredAt[flight]!);
    } else if (chunk === -1) confirmNotify(core, slot);
    confirmChunks(core, slot, 1);
  }
  return FRAME_TAKEN;
}

export function dispatchFrame(
  core: LaneCore,
  channel: Channel,
  kind: number,
  word: number,
  entries: number,
): number {
  switch (kind) {
    case FRAME_WRITE:
      return onWrite(core, channel, word, entries);
    case FRAME_READ_DATA:
      return onReadData(core, channel, word);
    case FRAME_READ_REQUEST:
      return onReadRequest(core, channel, word, entries);
    case FRAME_NOTIFY:
    case FRAME_SIGNAL:
      return onNotify(core, channel, word, kind);
    case FRAME_REFUSE:
      return onRefuse(core, channel, word);
    case FRAME_ACK:
      return onAckFrame(core, channel, word);
    default:
      return FRAME_TAKEN;
  }
}

// How much the receiver can take, at most the agreed window; without one the last stays. And how
// many answers to its reads have landed.
function onAckFrame(core: LaneCore, channel: Channel, word: number): number {
  const landed = channel.staging.uint32[word + WORD_SEQUENCE]!;
  if (!confirmServed(core, channel, landed)) return TURN_RULE - RULE_UNASKED;
  const credit = channel.staging.uint32[word + WORD_OPERATION_BYTES]!;
  if (credit > 0) {
    channel.credit = credit < channel.windowChunks ? credit : channel.windowChunks;
  }
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
  const words = channel.staging.uint32;
  const slot = words[word + WORD_REGION_SLOT]!;
  const generation = words[word + WORD_REGION_GENERATION]!;
  const access = openAccess(core.regions, slot, generation, words, word + WORD_KEY, right);
  if (access !== ACCESS_GRANTED) return access;
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
      return ACCESS_BOUNDS;
    }
    channel.segmentAddr[index] = base + offset;
    channel.segmentBytes[index] = bytes;
    entry += TABLE_ENTRY_BYTES / 4;
  }
  channel.segmentIndex = 0;
  channel.segmentCount = count;
  return ACCESS_GRANTED;
}

function onWrite(core: LaneCore, channel: Channel, word: number, entries: number): number {
  const words = channel.staging.uint32;
  if (words[word + WORD_SEQUENCE]! !== channel.arrived >>> 0) return TURN_RULE - RULE_SEQUENCE;
  if (((channel.arrived - channel.landed) | 0) >= channel.windowChunks) {
    return TURN_RULE - RULE_WINDOW;
  }
  const device = regionDevice(core.regions, words[word + WORD_REGION_SLOT]!);
  const room = device === 0 ? SLOT_FREE : slotFor(channel, device);
  if (room === SLOT_NONE_YET) return FRAME_WAITS;
  channel.frameKind = FRAME_WRITE;
  channel.frameSequence = words[word + WORD_SEQUENCE]! | 0;
  channel.payloadLeft = words[word + WORD_PAYLOAD_BYTES]!;
  const refusal =
    room === SLOT_NEVER ? REFUSE_DEVICE : openSegments(core, channel, word, entries, RIGHT_WRITE);
  if (refusal === ACCESS_GRANTED) {
    channel.frameRegion = words[word + WORD_REGION_SLOT]!;
    if (device !== 0) {
      const low = words[word + WORD_TRANSFER_LOW]!;
      aimAtSlot(channel, device, low, words[word + WORD_TRANSFER_HIGH]!);
    }
    expectChecksum(channel, word);
    return channel.refuseCount < channel.windowChunks ? FRAME_TAKEN : TURN_RULE - RULE_WINDOW;
  }
  // More refusals wait than writes may be in flight: the peer ignores its window.
  if (channel.refuseCount >= channel.windowChunks) return TURN_RULE - RULE_WINDOW;
  addRefusal(channel, words[word + WORD_SEQUENCE]!, refusal);
  rememberRefusal(core, channel, word, refusal);
  drainPayload(core, channel);
  return FRAME_TAKEN;
}

function expectChecksum(channel: Channel, word: number): void {
  const words = channel.staging.uint32;
  const isChecked = (words[word + WORD_KIND]! & FLAG_CHECKSUM) !== 0;
  channel.frameChecksum = isChecked ? words[word + WORD_OPERATION_BYTES]! : NO_CHECKSUM;
  channel.receivedChecksum = 0;
}

// Refused bytes are read and dropped: the stream goes on behind them.
function drainPayload(core: LaneCore, channel: Channel): void {
  let left = channel.payloadLeft;
  const drained = core.controlAt / 8 + LANE_DRAINED;
  core.float64[drained] = core.float64[drained]! + left;
  channel.frameRegion = -1;
  channel.segmentIndex = 0;
  channel.segmentCount = 0;
  while (left > 0) {
    const bytes = left < SINK_BYTES ? left : SINK_BYTES;
    channel.segmentAddr[channel.segmentCount] = core.sink.addr;
    channel.segmentBytes[channel.segmentCount] = bytes;
    channel.segmentCount++;
    left -= bytes;
  }
}

// The owner's log names the peer; the transfer's notification must not be delivered.
function rememberRefusal(core: LaneCore, channel: Channel, word: number, reason: number): void {
  const words = channel.staging.uint32;
  const low = words[word + WORD_TRANSFER_LOW]!;
  const high = words[word + WORD_TRANSFER_HIGH]!;
  const isKnown = low === channel.refusedTransferLow && high === channel.refusedTransferHigh;
  channel.refusedTransferLow = low;
  channel.refusedTransferHigh = high;
  if (isKnown) return;
  if (ringFreeBytes(core.events) < EVENT_RESERVE_BYTES) return;
  const at = reserveRecord(core.events, EVENT_REFUSED, 16) >> 2;
  core.int32[at] = channel.sessionIndex;
  core.int32[at + 1] = channel.channelIndex;
  core.int32[at + 2] = reason;
  core.int32[at + 3] = words[word + WORD_REGION_SLOT]!;
  publishRecords(core.events);
  core.hasNews = true;
}

function onReadRequest(core: LaneCore, channel: Channel, word: number, entries: number): number {
  const words = channel.staging.uint32;
  if (words[word + WORD_SEQUENCE]! !== channel.serveTail >>> 0) return TURN_RULE - RULE_SEQUENCE;
  // Whoever asks again has the answers of a window ago.
  const landed = (channel.serveTail - channel.windowChunks + 1) | 0;
  const isTold = ((channel.serveConfirmed - landed) | 0) >= 0;
  if (!isTold && !confirmServed(core, channel, landed)) return TURN_RULE - RULE_WINDOW;
  const refusal = openSegments(core, channel, word, entries, RIGHT_READ);
  if (refusal !== ACCESS_GRANTED) return refuseRead(core, channel, word, refusal);
  const slot = channel.serveTail & FLIGHT_MASK;
  const floats = channel.serveMemory.float64;
  const base = slot * TABLE_ENTRIES_MAX * 2;
  for (let index = 0; index < channel.segmentCount; index++) {
    floats[base + index * 2] = channel.segmentAddr[index]!;
    floats[base + index * 2 + 1] = channel.segmentBytes[index]!;
  }
  channel.serveRegion[slot] = words[word + WORD_REGION_SLOT]!;
  channel.serveBytes[slot] = words[word + WORD_OPERATION_BYTES]!;
  channel.serveSegments[slot] = channel.segmentCount;
  channel.serveChecked[slot] = words[word + WORD_KIND]! & FLAG_CHECKSUM;
  channel.serveTail = (channel.serveTail + 1) | 0;
  return FRAME_TAKEN;
}

// Answers come in the order of the requests, refusals among them: it waits in the same queue.
function refuseRead(core: LaneCore, channel: Channel, word: number, reason: number): number {
  rememberRefusal(core, channel, word, reason);
  const slot = channel.serveTail & FLIGHT_MASK;
  channel.serveRegion[slot] = -1;
  channel.serveBytes[slot] = 0;
  channel.serveSegments[slot] = reason;
  channel.serveTail = (channel.serveTail + 1) | 0;
  return FRAME_TAKEN;
}

function onReadData(core: LaneCore, channel: Channel, word: number): number {
  const words = channel.staging.uint32;
  if (channel.readNext === channel.readArrived) return TURN_RULE - RULE_UNASKED;
  if (words[word + WORD_SEQUENCE]! !== channel.readArrived >>> 0) return TURN_RULE - RULE_SEQUENCE;
  if ((words[word + WORD_KIND]! & FLAG_HELD) !== 0) channel.isConfirmWanted = true;
  const flight = channel.readArrived & FLIGHT_MASK;
  const slot = channel.readTransfer[flight]!;
  const chunkWord = chunkWordOf(core, slot, channel.readChunk[flight]!);
  const bytes = core.uint32[chunkWord + CHUNK_BYTES]!;
  if (words[word + WORD_PAYLOAD_BYTES]! !== bytes) return TURN_RULE - RULE_ANSWER_BYTES;
  const device = chunkDevice(core, slot, chunkWord);
  const room = device === 0 ? SLOT_FREE : slotFor(channel, device);
  if (room === SLOT_NONE_YET) return FRAME_WAITS;
  if (room === SLOT_NEVER) failTransfer(core, slot, FAIL_DEVICE);
  channel.frameKind = FRAME_READ_DATA;
  channel.payloadLeft = bytes;
  channel.frameRegion = -1;
  if (core.int32[transferWord(core.transfersAt, slot, TRANSFER_FAILURE)] !== 0) {
    giveBackFlight(core, channel, slot, channel.readChunk[flight]!);
    channel.readChunk[flight] = FLIGHT_DRAINED;
    drainPayload(core, channel);
  } else {
    aimAtPairs(core, channel, slot, chunkWord);
    if (device !== 0) aimAtSlot(channel, device, 0, 0);
    expectChecksum(channel, word);
  }
  return FRAME_TAKEN;
}

// Where an own read lands is taken from our own request, never from the peer.
function aimAtPairs(core: LaneCore, channel: Channel, slot: number, chunkWord: number): void {
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
    channel.segmentAddr[index] = floats[pair + PAIR_LOCAL_ADDR]! + skip;
    channel.segmentBytes[index] = bytes;
    left -= bytes;
    skip = 0;
    pair += ENTRY_FLOATS;
  }
  channel.segmentIndex = 0;
  channel.segmentCount = count;
}

function onNotify(core: LaneCore, channel: Channel, word: number, kind: number): number {
  const words = channel.staging.uint32;
  if (words[word + WORD_SEQUENCE]! !== channel.arrived >>> 0) return TURN_RULE - RULE_SEQUENCE;
  // What it speaks of may still be on its way into GPU memory.
  if (channel.arrived !== channel.landed) return FRAME_WAITS;
  const bytes = words[word + WORD_PAYLOAD_BYTES]!;
  const isSignal = kind === FRAME_SIGNAL;
  const isRefused =
    !isSignal &&
    words[word + WORD_TRANSFER_LOW] === channel.refusedTransferLow &&
    words[word + WORD_TRANSFER_HIGH] === channel.refusedTransferHigh;
  if (!isRefused) {
    if (ringFreeBytes(core.events) < EVENT_RESERVE_BYTES + bytes) return FRAME_WAITS;
    const event = isSignal ? EVENT_SIGNAL : EVENT_NOTIFICATION;
    const at = reserveRecord(core.events, event, NOTIFICATION_EVENT_BYTES + bytes);
    if (at < 0) return FRAME_WAITS;
    core.int32[at >> 2] = channel.sessionIndex;
    core.int32[(at >> 2) + 1] = bytes;
    if (!isSignal) core.int32[(at >> 2) + 2] = Atomics.add(core.int32, ENGINE_NOTIFICATIONS, 1);
    const source = channel.staging.addr + channel.stagingStart + DATA_HEAD_BYTES;
    if (bytes > 0) copyMemory(core.sharedAddr + at + NOTIFICATION_EVENT_BYTES, source, bytes);
    publishRecords(core.events);
    core.hasNews = true;
  }
  channel.arrived = (channel.arrived + 1) | 0;
  onLanded(core, channel);
  return FRAME_TAKEN;
}

// The owner refused one operation: its transfer fails, the session goes on.
function onRefuse(core: LaneCore, channel: Channel, word: number): number {
  const words = channel.staging.uint32;
  const reason = words[word + WORD_TRANSFER_LOW]!;
  const kind = words[word + WORD_TRANSFER_HIGH]!;
  const sequence = words[word + WORD_SEQUENCE]! | 0;
  // A checksum that was not sent, or not asked for, cannot be wrong.
  if (reason === REFUSE_CHECKSUM && (!core.isChecked || kind === FRAME_READ_REQUEST)) {
    return TURN_RULE - RULE_UNASKED;
  }
  if (kind === FRAME_READ_REQUEST) {
    if (channel.readNext === channel.readArrived || sequence !== channel.readArrived) {
      return TURN_RULE - RULE_UNASKED;
    }
    onReadRefused(core, channel, reason);
    return FRAME_TAKEN;
  }
  const behind = (sequence - channel.writeAcked) | 0;
  if (behind < 0 || behind >= ((channel.writeNext - channel.writeAcked) | 0)) {
    return TURN_RULE - RULE_UNASKED;
  }
  if (reason === REFUSE_CHECKSUM && !channel.hasSent(sequence)) return TURN_RULE - RULE_UNASKED;
  refuseFlight(core, channel, sequence & FLIGHT_MASK, reason);
  return FRAME_TAKEN;
}
