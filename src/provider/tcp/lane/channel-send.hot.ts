// Sending: frames are gathered into one vector (heads in the channel's memory, payload in place)
// and handed to the port in as few calls as possible.

import {
  CHUNK_BYTES,
  CHUNK_FIRST_PAIR,
  CHUNK_PAIR_COUNT,
  CHUNK_REMOTE_INDEX,
  CHUNK_SKIP,
  ENTRY_FLOATS,
  PAIR_BYTES,
  PAIR_LOCAL_ADDR,
  PAIR_REMOTE_OFFSET,
} from '../../../flow/request-layout.js';
import { crc32At } from '../../../os/fixed-memory.js';
import { VECTOR_ENTRIES_MAX, WOULD_BLOCK, ZERO_COPY_BYTES_MIN } from '../port/stream-port.js';
import { writeLong } from '../../../wire/data-frame.hot.js';
import {
  DATA_HEAD_BYTES,
  FRAME_NOTIFY,
  FRAME_READ_REQUEST,
  FRAME_SIGNAL,
  FRAME_WRITE,
  HEAD_AND_TABLE_BYTES_MAX,
  TABLE_ENTRIES_MAX,
  TABLE_ENTRY_BYTES,
  WORD_ACK,
  WORD_OFFSET_LOW,
  WORD_OPERATION_BYTES,
  WORD_TABLE_ENTRIES,
  WORD_TRANSFER_HIGH,
  WORD_TRANSFER_LOW,
} from '../../../wire/data-frame.js';
import { type Channel, FLIGHT_MASK, HEAD_MEMORY_BYTES } from './channel.js';
import { chunkWordOf } from './chunk-confirmed.hot.js';
import {
  beginFrame,
  frameAck,
  frameRefusal,
  pushVector,
  writeChecksum,
} from './frame-writer.hot.js';
import type { LaneCore } from './lane-core.js';
import { writeRemote } from './remote-region.hot.js';
import {
  OPERATION_SIGNAL,
  OPERATION_WRITE,
  TRANSFER_CHANNEL_CHUNKS,
  TRANSFER_CHUNK_COUNT,
  TRANSFER_FAILURE,
  TRANSFER_GENERATION,
  TRANSFER_NOTIFY_AT,
  TRANSFER_NOTIFY_BYTES,
  TRANSFER_NOTIFY_FRAMED,
  TRANSFER_OPERATION,
  TRANSFER_PAIRS_AT,
  transferFloat,
  transferWord,
} from './layout.js';
import { fitsVector, freeSentSlots, keepCopied } from './held-slots.hot.js';
import { frameReadData, freeServed, isConfirmDue } from './served-reads.hot.js';
import {
  isServeReady,
  isSourceReady,
  stageChunk,
  stagedCount,
  startChunks,
  startServes,
  takeCopied,
} from './staging-send.hot.js';
import { claimChunk, confirmChunks, takeNotify } from './transfer-progress.hot.js';

/** One vectored call carries at most this much: the kernel takes what fits, the rest waits. */
const SEND_BATCH_BYTES = 2 * 1024 * 1024;
const COPIED_PIECE_BYTES = ZERO_COPY_BYTES_MIN / 2;
/** Calls per turn, so that one busy channel does not starve the others of its lane. */
const SENDS_PER_TURN = 8;
/** Landed frames after which the peer is told even while more arrive. */
const ACK_EVERY = 4;

/** Sends what can be sent now. 1 when bytes moved, 0 when not, −errno when the channel broke. */
export function sendTurn(core: LaneCore, channel: Channel): number {
  let progress = 0;
  for (let tries = 0; tries < SENDS_PER_TURN && channel.isWritable; tries++) {
    if (channel.sendCount === 0 && !fillVector(core, channel)) return progress;
    // Slots that are free once their vector was sent must be copied too.
    const isHeld = !channel.isVectorCopied && channel.stage.vectorCount === 0;
    const sent = channel.port.send(channel.sendFirst, channel.sendCount, isHeld);
    if (sent < 0) {
      if (sent !== WOULD_BLOCK) return sent;
      channel.isWritable = false;
      return progress;
    }
    progress = 1;
    channel.sentBytes += sent;
    channel.sendBytes -= sent;
    if (channel.sendBytes > 0) {
      channel.sendFirst = channel.port.advanceSend(channel.sendFirst, sent);
      // A short send means a full socket buffer: wait for room instead of asking again.
      channel.isWritable = false;
      return progress;
    }
    onVectorSent(core, channel);
  }
  return progress;
}

function onVectorSent(core: LaneCore, channel: Channel): void {
  channel.sendFirst = 0;
  channel.sendCount = 0;
  channel.headUsedBytes = 0;
  channel.isVectorCopied = false;
  freeSentSlots(channel);
  freeServed(core, channel);
}

// For any frame, and an acknowledgement behind it.
function hasRoom(channel: Channel): boolean {
  return (
    channel.sendBytes < SEND_BATCH_BYTES &&
    channel.sendCount + TABLE_ENTRIES_MAX + 3 <= VECTOR_ENTRIES_MAX &&
    channel.headUsedBytes + HEAD_AND_TABLE_BYTES_MAX + DATA_HEAD_BYTES <= HEAD_MEMORY_BYTES
  );
}

// Gathers what is due; false when nothing is.
function fillVector(core: LaneCore, channel: Channel): boolean {
  // A refused write counts as landed: its refusal goes first, acknowledging only what came before.
  if (channel.refuseCount > 0) frameRefusals(channel);
  startServes(core, channel);
  while (channel.serveFramed !== channel.serveTail && hasRoom(channel)) {
    if (!isServeReady(core, channel)) break;
    frameReadData(channel);
  }
  fillOwn(core, channel);
  // Every head carries the acknowledgement; a frame of its own is needed only without one.
  if (isAckDue(core, channel)) frameAck(channel);
  return channel.sendCount > 0;
}

// Those whose turn has not come wait for GPU copies of the frames before them.
function frameRefusals(channel: Channel): void {
  let count = 0;
  while (count < channel.refuseCount) {
    const sequence = channel.refuseSequence[count]!;
    if (((channel.landed - sequence) | 0) < 0) break;
    const word = frameRefusal(channel, FRAME_WRITE, sequence, channel.refuseReason[count]!);
    channel.heads.uint32[word + WORD_ACK] = sequence;
    channel.ackSent = sequence | 0;
    count++;
  }
  channel.refuseSequence.copyWithin(0, count, channel.refuseCount);
  channel.refuseReason.copyWithin(0, count, channel.refuseCount);
  channel.refuseCount -= count;
}

function isAckDue(core: LaneCore, channel: Channel): boolean {
  if (channel.granted !== channel.grantTold || isConfirmDue(channel)) return true;
  const owed = (channel.landed - channel.ackSent) | 0;
  if (owed === 0) return false;
  if (owed >= ACK_EVERY) return true;
  // More is coming in: acknowledge it together.
  if (channel.isReadable && core.ackDelayTurns === 0) return false;
  if (channel.ackDelayTurns === 0) return true;
  channel.ackDelayTurns--;
  return false;
}

function fillOwn(core: LaneCore, channel: Channel): void {
  const session = core.sessions[channel.sessionIndex]!;
  while (hasRoom(channel) && session.notifyHead >= 0 && hasWriteWindow(channel)) {
    frameNotify(core, channel, takeNotify(core, session));
  }
  startChunks(core, channel);
  frameCopied(core, channel);
  while (hasRoom(channel) && (session.activeHead >= 0 || session.retries.length > 0)) {
    if (!hasWriteWindow(channel) || !hasReadWindow(channel)) return;
    if (channel.flightBytes >= channel.flightLimitBytes) return;
    if (!isSourceReady(core, channel, session)) return;
    const chunk = claimChunk(core, session);
    if (chunk < 0) return;
    if (stageChunk(core, channel, core.claimedSlot, chunk)) continue;
    frameChunk(core, channel, core.claimedSlot, chunk, 0);
  }
}

// Chunks from GPU memory that lie in their slots by now.
function frameCopied(core: LaneCore, channel: Channel): void {
  while (hasRoom(channel) && fitsVector(core, channel)) {
    const addr = takeCopied(core, channel);
    if (addr === 0) return;
    const sequence = channel.writeNext;
    frameChunk(core, channel, channel.stage.copiedTransfer, channel.stage.copiedChunk, addr);
    keepCopied(core, channel, sequence);
  }
}

function hasWriteWindow(channel: Channel): boolean {
  const framed = (channel.writeNext - channel.writeAcked) | 0;
  return framed + stagedCount(channel) < channel.credit;
}

function hasReadWindow(channel: Channel): boolean {
  return ((channel.readNext - channel.readDone) | 0) < channel.granted;
}

function frameNotify(core: LaneCore, channel: Channel, slot: number): void {
  const int32 = core.int32;
  if (int32[transferWord(core.transfersAt, slot, TRANSFER_FAILURE)] !== 0) {
    confirmChunks(core, slot, 1);
    return;
  }
  const bytes = int32[transferWord(core.transfersAt, slot, TRANSFER_NOTIFY_BYTES)]!;
  const operation = int32[transferWord(core.transfersAt, slot, TRANSFER_OPERATION)];
  const kind = operation === OPERATION_SIGNAL ? FRAME_SIGNAL : FRAME_NOTIFY;
  const word = beginFrame(channel, kind, bytes, channel.writeNext);
  writeTransferId(core, channel, word, slot);
  if (bytes > 0) {
    const at = core.float64[transferFloat(core.transfersAt, slot, TRANSFER_NOTIFY_AT)]!;
    pushCopied(channel, core.sharedAddr + core.arenaAt + at, bytes);
  }
  int32[transferWord(core.transfersAt, slot, TRANSFER_NOTIFY_FRAMED)] = 1;
  const flight = channel.writeNext & FLIGHT_MASK;
  channel.writeTransfer[flight] = slot;
  channel.writeChunk[flight] = -1;
  channel.writeEndAt[flight] = channel.sentBytes + channel.sendBytes;
  channel.writeNext = (channel.writeNext + 1) | 0;
}

// The arena is the engine's, and used again: in pieces that no port sends by reference.
function pushCopied(channel: Channel, addr: number, bytes: number): void {
  for (let at = 0; at < bytes; at += COPIED_PIECE_BYTES) {
    const left = bytes - at;
    pushVector(channel, addr + at, left < COPIED_PIECE_BYTES ? left : COPIED_PIECE_BYTES);
  }
}

function writeTransferId(core: LaneCore, channel: Channel, word: number, slot: number): void {
  const words = channel.heads.uint32;
  words[word + WORD_TRANSFER_LOW] = slot;
  words[word + WORD_TRANSFER_HIGH] =
    core.int32[transferWord(core.transfersAt, slot, TRANSFER_GENERATION)]!;
}

// `stagedAddr`: where the bytes of a chunk from GPU memory lie; 0: where the pairs say.
function frameChunk(
  core: LaneCore,
  channel: Channel,
  slot: number,
  chunk: number,
  stagedAddr: number,
): void {
  const int32 = core.int32;
  const transfersAt = core.transfersAt;
  if (int32[transferWord(transfersAt, slot, TRANSFER_FAILURE)] !== 0) {
    confirmChunks(core, slot, 1);
    return;
  }
  const chunkWord = chunkWordOf(core, slot, chunk);
  const bytes = core.uint32[chunkWord + CHUNK_BYTES]!;
  const isWrite = int32[transferWord(transfersAt, slot, TRANSFER_OPERATION)] === OPERATION_WRITE;
  const flight = (isWrite ? channel.writeNext : channel.readNext) & FLIGHT_MASK;
  const word = isWrite
    ? beginFrame(channel, FRAME_WRITE, bytes, channel.writeNext)
    : beginFrame(channel, FRAME_READ_REQUEST, 0, channel.readNext);
  writeTransferId(core, channel, word, slot);
  channel.heads.uint32[word + WORD_OPERATION_BYTES] = bytes;
  const remoteIndex = core.uint32[chunkWord + CHUNK_REMOTE_INDEX]!;
  writeRemote(core, channel.heads.uint32, word, slot, remoteIndex);
  let sum = framePairs(core, channel, word, slot, chunkWord, isWrite && stagedAddr === 0);
  if (stagedAddr !== 0) {
    pushVector(channel, stagedAddr, bytes);
    if (core.isChecked) sum = crc32At(0, stagedAddr, bytes);
  }
  if (core.isChecked) writeChecksum(channel, word, isWrite ? sum : bytes);
  const count = transferWord(transfersAt, slot, TRANSFER_CHANNEL_CHUNKS) + channel.channelIndex;
  const framed = int32[count]! + 1;
  int32[count] = framed;
  channel.flightBytes += bytes;
  if (isWrite) {
    channel.writeSentUs[flight] = core.nowUs;
    channel.writeDeliveredAt[flight] = channel.deliveredBytes;
    channel.writeTransfer[flight] = slot;
    channel.writeChunk[flight] = chunk;
    channel.writeEndAt[flight] = channel.sentBytes + channel.sendBytes;
    channel.writeNext = (channel.writeNext + 1) | 0;
    // All chunks went this way, in order: the notification may follow at once, unless a chunk may
    // have to go again.
    const isAll = framed === int32[transferWord(transfersAt, slot, TRANSFER_CHUNK_COUNT)];
    const notifyBytes = int32[transferWord(transfersAt, slot, TRANSFER_NOTIFY_BYTES)]!;
    if (
      isAll &&
      int32[transferWord(transfersAt, slot, TRANSFER_NOTIFY_FRAMED)] === 0 &&
      !core.isChecked &&
      notifyBytes >= 0 &&
      hasWriteWindow(channel) &&
      hasRoom(channel)
    ) {
      frameNotify(core, channel, slot);
    }
  } else {
    channel.readSentUs[flight] = core.nowUs;
    channel.readDeliveredAt[flight] = channel.deliveredBytes;
    channel.readTransfer[flight] = slot;
    channel.readChunk[flight] = chunk;
    channel.readNext = (channel.readNext + 1) | 0;
  }
}

// Remote offsets go into the head, or into a table behind it; local memory into the vector.
// Returns the checksum of what is sent, where one is wanted.
function framePairs(
  core: LaneCore,
  channel: Channel,
  word: number,
  slot: number,
  chunkWord: number,
  isInPlace: boolean,
): number {
  const isSummed = isInPlace && core.isChecked;
  let sum = 0;
  const floats = core.float64;
  const words = channel.heads.uint32;
  const pairsAt = floats[transferFloat(core.transfersAt, slot, TRANSFER_PAIRS_AT)]!;
  const pairCount = core.uint32[chunkWord + CHUNK_PAIR_COUNT]!;
  let pair =
    (core.arenaAt + pairsAt) / 8 + core.uint32[chunkWord + CHUNK_FIRST_PAIR]! * ENTRY_FLOATS;
  let skip = floats[chunkWord / 2 + CHUNK_SKIP]!;
  let left = core.uint32[chunkWord + CHUNK_BYTES]!;
  if (pairCount === 1) {
    writeLong(words, word + WORD_OFFSET_LOW, floats[pair + PAIR_REMOTE_OFFSET]! + skip);
    const addr = floats[pair + PAIR_LOCAL_ADDR]! + skip;
    if (isInPlace) pushVector(channel, addr, left);
    return isSummed ? crc32At(0, addr, left) : 0;
  }
  words[word + WORD_TABLE_ENTRIES] = pairCount;
  const tableBytes = pairCount * TABLE_ENTRY_BYTES;
  let entry = channel.headUsedBytes >> 2;
  pushVector(channel, channel.heads.addr + channel.headUsedBytes, tableBytes);
  channel.headUsedBytes += tableBytes;
  for (let index = 0; index < pairCount; index++) {
    const available = floats[pair + PAIR_BYTES]! - skip;
    const bytes = available < left ? available : left;
    writeLong(words, entry, floats[pair + PAIR_REMOTE_OFFSET]! + skip);
    words[entry + 2] = bytes;
    words[entry + 3] = 0;
    const addr = floats[pair + PAIR_LOCAL_ADDR]! + skip;
    if (isInPlace) pushVector(channel, addr, bytes);
    if (isSummed) sum = crc32At(sum, addr, bytes);
    left -= bytes;
    skip = 0;
    entry += TABLE_ENTRY_BYTES / 4;
    pair += ENTRY_FLOATS;
  }
  return sum;
}
