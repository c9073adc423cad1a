// Receiving: bytes go straight to where the frame says. A read asks for the rest of the current
// payload and, in the same call, for the head of the next frame; what arrives between frames is
// staged and moved from there.

import { copyMemory, crc32At } from '../../../os/fixed-memory.js';
import { WOULD_BLOCK } from '../port/stream-port.js';
import { checkHead, checkTable } from '../../../wire/data-frame.hot.js';
import {
  DATA_HEAD_BYTES,
  FRAME_NOTIFY,
  FRAME_SIGNAL,
  FRAME_WRITE,
  TABLE_ENTRY_BYTES,
  WORD_ACK,
  WORD_KIND,
  WORD_OPERATION_BYTES,
  WORD_PAYLOAD_BYTES,
  WORD_TABLE_ENTRIES,
} from '../../../wire/data-frame.js';
import {
  ALIGNED_HEAD_AT,
  type Channel,
  PHASE_HEAD,
  PHASE_PAYLOAD,
  STAGING_BYTES,
} from './channel.js';
import { dispatchFrame, onAck } from './frame-handlers.hot.js';
import { onArrived } from './landing.hot.js';
import type { LaneCore } from './lane-core.js';
import {
  FRAME_TAKEN,
  FRAME_WAITS,
  TURN_ENDED,
  TURN_IDLE,
  TURN_MOVED,
  TURN_RULE,
  TURN_SYSTEM,
} from './turn.js';

/** Calls per turn, so that one busy channel does not starve the others of its lane. */
const READS_PER_TURN = 8;
export function receiveTurn(core: LaneCore, channel: Channel): number {
  let outcome = TURN_IDLE;
  if (channel.stagingEnd > 0) {
    // A frame waited for room in the event ring.
    const parsed = parseStaging(core, channel);
    if (parsed < 0) return parsed;
  }
  for (let count = 0; count < READS_PER_TURN && channel.isReadable; count++) {
    const entries = channel.phase === PHASE_PAYLOAD ? aimAtPayload(channel) : aimAtStaging(channel);
    if (entries === 0) return outcome;
    const received = channel.port.receive(entries);
    if (received <= 0) {
      if (received === 0) return TURN_ENDED;
      if (received !== WOULD_BLOCK) return TURN_SYSTEM + received;
      channel.isReadable = false;
      return outcome;
    }
    outcome = TURN_MOVED;
    channel.receivedBytes += received;
    // Less than asked for: the socket is empty, and readiness will tell when it is not.
    if (received < channel.askedBytes && !channel.isEnding) channel.isReadable = false;
    const parsed = onReceived(core, channel, received);
    if (parsed < 0) return parsed;
  }
  return outcome;
}

function aimAtStaging(channel: Channel): number {
  const room = STAGING_BYTES - channel.stagingEnd;
  if (room === 0) return 0;
  channel.port.setReceive(0, channel.staging.addr + channel.stagingEnd, room);
  channel.askedBytes = room;
  return 1;
}

function aimAtPayload(channel: Channel): number {
  let entries = 0;
  for (let index = channel.segmentIndex; index < channel.segmentCount; index++) {
    channel.port.setReceive(entries, channel.segmentAddr[index]!, channel.segmentBytes[index]!);
    entries++;
  }
  // Only the head of the next frame: payload that were read along would be copied twice.
  channel.port.setReceive(entries, channel.staging.addr, channel.frameHeadBytes);
  channel.askedBytes = channel.payloadLeft + channel.frameHeadBytes;
  return entries + 1;
}

function onReceived(core: LaneCore, channel: Channel, received: number): number {
  if (channel.phase === PHASE_PAYLOAD) {
    const placed = received < channel.payloadLeft ? received : channel.payloadLeft;
    advanceSegments(channel, placed);
    if (channel.payloadLeft > 0) return FRAME_TAKEN;
    channel.stagingStart = 0;
    channel.stagingEnd = received - placed;
    onPayloadComplete(core, channel);
    if (channel.stagingEnd === 0) return FRAME_TAKEN;
  } else {
    channel.stagingEnd += received;
  }
  return parseStaging(core, channel);
}

function advanceSegments(channel: Channel, bytes: number): void {
  channel.payloadLeft -= bytes;
  let left = bytes;
  while (left > 0) {
    const index = channel.segmentIndex;
    const segment = channel.segmentBytes[index]!;
    if (channel.frameChecksum >= 0) sumSegment(channel, index, left < segment ? left : segment);
    if (left < segment) {
      channel.segmentAddr[index] = channel.segmentAddr[index]! + left;
      channel.segmentBytes[index] = segment - left;
      return;
    }
    left -= segment;
    channel.segmentIndex = index + 1;
  }
}

// While the bytes are in the cache.
function sumSegment(channel: Channel, index: number, bytes: number): void {
  const sum = crc32At(channel.receivedChecksum, channel.segmentAddr[index]!, bytes);
  channel.receivedChecksum = sum;
}

// Takes every whole head from staging; the payload bytes behind it are moved to their place.
function parseStaging(core: LaneCore, channel: Channel): number {
  let outcome = FRAME_TAKEN;
  while (channel.phase === PHASE_HEAD && channel.stagingEnd - channel.stagingStart > 0) {
    outcome = parseFrame(core, channel);
    if (outcome <= 0) break;
  }
  if (outcome < 0) return outcome;
  const leftBytes = channel.stagingEnd - channel.stagingStart;
  if (channel.stagingStart > 0) {
    if (leftBytes > 0) {
      channel.staging.uint8.copyWithin(0, channel.stagingStart, channel.stagingEnd);
    }
    channel.stagingStart = 0;
    channel.stagingEnd = leftBytes;
  }
  return FRAME_TAKEN;
}

function parseFrame(core: LaneCore, channel: Channel): number {
  const available = channel.stagingEnd - channel.stagingStart;
  if (available < DATA_HEAD_BYTES) return FRAME_WAITS;
  const words = channel.staging.uint32;
  let word = alignStaged(channel, DATA_HEAD_BYTES);
  const rule = checkHead(words, word, channel.chunkBytesMax);
  if (rule !== 0) return TURN_RULE - rule;
  const kind = words[word + WORD_KIND]! & 255;
  const entries = words[word + WORD_TABLE_ENTRIES]!;
  const headBytes = DATA_HEAD_BYTES + entries * TABLE_ENTRY_BYTES;
  const wholeBytes =
    kind === FRAME_NOTIFY || kind === FRAME_SIGNAL
      ? headBytes + words[word + WORD_PAYLOAD_BYTES]!
      : headBytes;
  if (available < wholeBytes) return FRAME_WAITS;
  if (entries > 0) {
    word = alignStaged(channel, headBytes);
    const tableRule = checkTable(
      words,
      word + DATA_HEAD_BYTES / 4,
      entries,
      kind === FRAME_WRITE
        ? words[word + WORD_PAYLOAD_BYTES]!
        : words[word + WORD_OPERATION_BYTES]!,
    );
    if (tableRule !== 0) return TURN_RULE - tableRule;
  }
  const acked = onAck(core, channel, words[word + WORD_ACK]!);
  if (acked < 0) return acked;
  const outcome = dispatchFrame(core, channel, kind, word, entries);
  if (outcome <= 0) return outcome;
  channel.frameHeadBytes = headBytes;
  channel.stagingStart += wholeBytes;
  if (channel.payloadLeft > 0) placeStaged(core, channel);
  return FRAME_TAKEN;
}

// Word index of the bytes at stagingStart, moved to an aligned place when they are not on one.
function alignStaged(channel: Channel, bytes: number): number {
  const start = channel.stagingStart;
  if ((start & 3) === 0) return start >> 2;
  channel.staging.uint8.copyWithin(ALIGNED_HEAD_AT, start, start + bytes);
  return ALIGNED_HEAD_AT >> 2;
}

function placeStaged(core: LaneCore, channel: Channel): void {
  channel.phase = PHASE_PAYLOAD;
  while (channel.payloadLeft > 0 && channel.stagingStart < channel.stagingEnd) {
    const index = channel.segmentIndex;
    const available = channel.stagingEnd - channel.stagingStart;
    const segment = channel.segmentBytes[index]!;
    const bytes = available < segment ? available : segment;
    const source = channel.staging.addr + channel.stagingStart;
    copyMemory(channel.segmentAddr[index]!, source, bytes);
    channel.stagingStart += bytes;
    advanceSegments(channel, bytes);
  }
  if (channel.payloadLeft === 0) onPayloadComplete(core, channel);
}

function onPayloadComplete(core: LaneCore, channel: Channel): void {
  channel.phase = PHASE_HEAD;
  onArrived(core, channel);
}
