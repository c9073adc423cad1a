// Receiving: bytes go straight to where the frame says. A read asks for the rest of the current
// payload and, in the same call, for the head of the next frame; what arrives between frames is
// staged and moved from there.

import { assert } from '../../../base/assert.js';
import { copyMemory, crc32At } from '../../../os/fixed-memory.js';
import { checkHead, checkTable } from '../../../wire/data-frame.hot.js';
import {
  DATA_HEAD_BYTES,
  FRAME_NOTIFY,
  FRAME_SIGNAL,
  FRAME_WRITE,
  TABLE_ENTRIES_SHIFT,
  TABLE_ENTRY_BYTES,
  WORD_HEAD_CHECK,
  WORD_KIND,
  WORD_OFFSET_LOW,
  WORD_OPERATION_BYTES,
  WORD_PAYLOAD_BYTES,
} from '../../../wire/data-frame.js';
import { headCheck } from '../../../wire/head-check.hot.js';
import { WOULD_BLOCK } from '../port/stream-port.js';
import type { Channel } from './channel.js';
import { dispatchFrame, onHeadAck } from './frame-handlers.hot.js';
import {
  ALIGNED_HEAD_AT,
  type Intake,
  PHASE_HEAD,
  PHASE_PAYLOAD,
  STAGING_BYTES,
} from './intake.js';
import { onArrived } from './landing.hot.js';
import type { LaneCore } from './lane-core.js';
import { PART_HEAD, PART_MESSAGE, PART_TABLE } from './messages.js';
import {
  FRAME_TAKEN,
  FRAME_WAITS,
  TURN_DAMAGED,
  TURN_ENDED,
  TURN_IDLE,
  TURN_MOVED,
  TURN_RULE,
  TURN_SYSTEM,
} from './turn.js';

/** Calls per turn, so that one busy channel does not starve the others of its lane. */
const READS_PER_TURN = 8;

export function receiveTurn(core: LaneCore, channel: Channel): number {
  const { intake, ready } = channel;
  let outcome = TURN_IDLE;
  if (intake.stagingEnd > 0) {
    // A frame waited for room in the event ring.
    const parsed = parseStaging(core, channel);
    if (parsed < 0) return parsed;
  }
  for (let count = 0; count < READS_PER_TURN && ready.isReadable; count++) {
    const entries = intake.phase === PHASE_PAYLOAD ? aimAtPayload(channel) : aimAtStaging(channel);
    if (entries === 0) return outcome;
    const received = channel.port.receive(entries);
    if (received <= 0) {
      if (received === 0) return TURN_ENDED;
      if (received !== WOULD_BLOCK) return TURN_SYSTEM + received;
      ready.onEmpty();
      return outcome;
    }
    outcome = TURN_MOVED;
    intake.receivedBytes += received;
    // Less than asked for: the socket is empty, and readiness will tell when it is not.
    if (received < intake.askedBytes && !ready.isEnding) ready.onEmpty();
    const parsed = onReceived(core, channel, received);
    if (parsed < 0) return parsed;
  }
  return outcome;
}

function aimAtStaging(channel: Channel): number {
  const { intake } = channel;
  const room = STAGING_BYTES - intake.stagingEnd;
  if (room === 0) return 0;
  channel.port.setReceive(0, intake.staging.addr + intake.stagingEnd, room);
  intake.askedBytes = room;
  return 1;
}

function aimAtPayload(channel: Channel): number {
  const { intake } = channel;
  let entries = 0;
  for (let index = intake.segmentIndex; index < intake.segmentCount; index++) {
    channel.port.setReceive(entries, intake.segmentAddr[index]!, intake.segmentBytes[index]!);
    entries++;
  }
  // Only the head of the next frame: payload that were read along would be copied twice.
  channel.port.setReceive(entries, intake.staging.addr, intake.frameHeadBytes);
  intake.askedBytes = intake.payloadLeft + intake.frameHeadBytes;
  return entries + 1;
}

function onReceived(core: LaneCore, channel: Channel, received: number): number {
  const { intake } = channel;
  if (intake.phase === PHASE_PAYLOAD) {
    const placed = received < intake.payloadLeft ? received : intake.payloadLeft;
    advanceSegments(intake, placed);
    if (intake.payloadLeft > 0) return FRAME_TAKEN;
    intake.stagingStart = 0;
    intake.stagingEnd = received - placed;
    onPayloadComplete(core, channel);
    if (intake.stagingEnd === 0) return FRAME_TAKEN;
  } else {
    intake.stagingEnd += received;
  }
  return parseStaging(core, channel);
}

function advanceSegments(intake: Intake, bytes: number): void {
  assert(bytes <= intake.payloadLeft, 'no more is placed than the payload has');
  intake.payloadLeft -= bytes;
  let left = bytes;
  while (left > 0) {
    const index = intake.segmentIndex;
    const segment = intake.segmentBytes[index]!;
    if (intake.frameChecksum >= 0) sumSegment(intake, index, left < segment ? left : segment);
    if (left < segment) {
      intake.segmentAddr[index] = intake.segmentAddr[index]! + left;
      intake.segmentBytes[index] = segment - left;
      return;
    }
    left -= segment;
    intake.segmentIndex = index + 1;
  }
}

// While the bytes are in the cache.
function sumSegment(intake: Intake, index: number, bytes: number): void {
  const sum = crc32At(intake.receivedChecksum, intake.segmentAddr[index]!, bytes);
  intake.receivedChecksum = sum;
}

// Takes every whole head from staging; the payload bytes behind it are moved to their place.
function parseStaging(core: LaneCore, channel: Channel): number {
  const { intake } = channel;
  let outcome = FRAME_TAKEN;
  while (intake.phase === PHASE_HEAD && intake.stagingEnd - intake.stagingStart > 0) {
    outcome = parseFrame(core, channel);
    if (outcome <= 0) break;
  }
  if (outcome < 0) return outcome;
  const leftBytes = intake.stagingEnd - intake.stagingStart;
  if (intake.stagingStart > 0) {
    if (leftBytes > 0) {
      intake.staging.uint8.copyWithin(0, intake.stagingStart, intake.stagingEnd);
    }
    intake.stagingStart = 0;
    intake.stagingEnd = leftBytes;
  }
  return FRAME_TAKEN;
}

function parseFrame(core: LaneCore, channel: Channel): number {
  const { intake } = channel;
  const available = intake.stagingEnd - intake.stagingStart;
  if (available < DATA_HEAD_BYTES) return FRAME_WAITS;
  const words = intake.staging.uint32;
  const word = alignStaged(intake, DATA_HEAD_BYTES);
  const { isChecked } = channel;
  // Nothing that a head says is believed before this: not even how long it is.
  if (isChecked && headCheck(words, word) !== words[word + WORD_HEAD_CHECK]!) {
    return TURN_DAMAGED - PART_HEAD;
  }
  const rule = checkHead(words, word, channel.chunkBytesMax, isChecked);
  if (rule !== 0) return TURN_RULE - rule;
  const kind = words[word + WORD_KIND]! & 255;
  const entries = words[word + WORD_KIND]! >>> TABLE_ENTRIES_SHIFT;
  const headBytes = DATA_HEAD_BYTES + entries * TABLE_ENTRY_BYTES;
  const isMessage = kind === FRAME_NOTIFY || kind === FRAME_SIGNAL;
  const messageBytes = isMessage ? words[word + WORD_PAYLOAD_BYTES]! : 0;
  const wholeBytes = headBytes + messageBytes;
  if (available < wholeBytes) return FRAME_WAITS;
  if (isChecked && isMessage && isMessageDamaged(intake, word, messageBytes)) {
    return TURN_DAMAGED - PART_MESSAGE;
  }
  if (entries > 0) {
    // To the same place as before, now with its table.
    alignStaged(intake, headBytes);
    const broken = checkStagedTable(channel, word, kind, entries);
    if (broken !== 0) return broken;
  }
  const acked = onHeadAck(core, channel, kind, word);
  if (acked < 0) return acked;
  const outcome = dispatchFrame(core, channel, kind, word, entries);
  if (outcome <= 0) return outcome;
  intake.frameHeadBytes = headBytes;
  intake.stagingStart += wholeBytes;
  if (intake.payloadLeft > 0) placeStaged(core, channel);
  return FRAME_TAKEN;
}

// 0, or what the frame ends the channel with.
function checkStagedTable(channel: Channel, word: number, kind: number, entries: number): number {
  const { intake } = channel;
  if (channel.isChecked && isTableDamaged(intake, word, entries)) return TURN_DAMAGED - PART_TABLE;
  const words = intake.staging.uint32;
  const bytesWord = kind === FRAME_WRITE ? WORD_PAYLOAD_BYTES : WORD_OPERATION_BYTES;
  const bytes = words[word + bytesWord]!;
  const rule = checkTable(words, word + DATA_HEAD_BYTES / 4, entries, bytes);
  return rule === 0 ? 0 : TURN_RULE - rule;
}

function isMessageDamaged(intake: Intake, word: number, bytes: number): boolean {
  const addr = intake.staging.addr + intake.stagingStart + DATA_HEAD_BYTES;
  return crc32At(0, addr, bytes) !== intake.staging.uint32[word + WORD_OPERATION_BYTES]!;
}

function isTableDamaged(intake: Intake, word: number, entries: number): boolean {
  const addr = intake.staging.addr + word * 4 + DATA_HEAD_BYTES;
  const sum = crc32At(0, addr, entries * TABLE_ENTRY_BYTES);
  return sum !== intake.staging.uint32[word + WORD_OFFSET_LOW]!;
}

// Word index of the bytes at stagingStart, moved to an aligned place when they are not on one.
function alignStaged(intake: Intake, bytes: number): number {
  const start = intake.stagingStart;
  if ((start & 3) === 0) return start >> 2;
  intake.staging.uint8.copyWithin(ALIGNED_HEAD_AT, start, start + bytes);
  return ALIGNED_HEAD_AT >> 2;
}

function placeStaged(core: LaneCore, channel: Channel): void {
  const { intake } = channel;
  intake.phase = PHASE_PAYLOAD;
  while (intake.payloadLeft > 0 && intake.stagingStart < intake.stagingEnd) {
    const index = intake.segmentIndex;
    const available = intake.stagingEnd - intake.stagingStart;
    const segment = intake.segmentBytes[index]!;
    const bytes = available < segment ? available : segment;
    const source = intake.staging.addr + intake.stagingStart;
    copyMemory(intake.segmentAddr[index]!, source, bytes);
    intake.stagingStart += bytes;
    advanceSegments(intake, bytes);
  }
  if (intake.payloadLeft === 0) onPayloadComplete(core, channel);
}

function onPayloadComplete(core: LaneCore, channel: Channel): void {
  channel.intake.phase = PHASE_HEAD;
  onArrived(core, channel);
}
