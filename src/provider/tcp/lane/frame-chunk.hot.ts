// Own chunks and notifications as frames: head, table and payload go into the vector, and the frame
// into the flight.

import type { ChunkIndex, Generation, TransferSlot } from '../../../base/quantity.js';
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
import { writeLong } from '../../../wire/data-frame.hot.js';
import {
  FLAG_COPIED,
  FRAME_NOTIFY,
  FRAME_READ_REQUEST,
  FRAME_SIGNAL,
  FRAME_WRITE,
  TABLE_ENTRIES_SHIFT,
  TABLE_ENTRY_BYTES,
  WORD_KIND,
  WORD_OFFSET_LOW,
  WORD_OPERATION_BYTES,
  WORD_TRANSFER_HIGH,
  WORD_TRANSFER_LOW,
} from '../../../wire/data-frame.js';
import { ZERO_COPY_BYTES_MIN } from '../port/stream-port.js';
import type { Channel } from './channel.js';
import { chunkWordOf } from './chunk-confirmed.hot.js';
import { FLIGHT_NOTIFY } from './flight.js';
import type { LaneCore } from './lane-core.js';
import {
  OPERATION_SIGNAL,
  OPERATION_WRITE,
  TRANSFER_CHANNEL_CHUNKS,
  TRANSFER_CHUNK_COUNT,
  TRANSFER_COPIED,
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
import { stagedCount } from './out-copies.hot.js';
import { addRead } from './own-reads.hot.js';
import { addWrite } from './own-writes.hot.js';
import { writeRemote } from './remote-region.hot.js';
import {
  beginFrame,
  copyVector,
  hasRoom,
  pushTable,
  pushVector,
  writeChecksum,
} from './send-vector.hot.js';
import type { SendVector } from './send-vector.js';
import { confirmChunks } from './transfer-progress.hot.js';

const COPIED_PIECE_BYTES = ZERO_COPY_BYTES_MIN / 2;

export function hasWriteWindow(channel: Channel): boolean {
  const framed = (channel.writes.next - channel.writes.acked) | 0;
  return framed + stagedCount(channel) < channel.credit.chunks;
}

export function frameNotify(core: LaneCore, channel: Channel, slot: TransferSlot): void {
  const int32 = core.int32;
  const entry = transferWord(core.transfersAt, slot, 0);
  if (int32[entry + TRANSFER_FAILURE] !== 0) {
    confirmChunks(core, slot, 1);
    return;
  }
  const bytes = int32[entry + TRANSFER_NOTIFY_BYTES]!;
  const operation = int32[entry + TRANSFER_OPERATION];
  const kind = operation === OPERATION_SIGNAL ? FRAME_SIGNAL : FRAME_NOTIFY;
  const word = beginFrame(channel, kind, bytes, channel.writes.next);
  writeTransferId(channel.vector, word, slot, int32[entry + TRANSFER_GENERATION]!);
  if (bytes > 0) {
    const at = core.float64[transferFloat(core.transfersAt, slot, TRANSFER_NOTIFY_AT)]!;
    const addr = core.sharedAddr + core.arenaAt + at;
    pushCopied(channel, addr, bytes);
    if (channel.isChecked) writeChecksum(channel.vector, word, crc32At(0, addr, bytes));
  }
  int32[entry + TRANSFER_NOTIFY_FRAMED] = 1;
  addWrite(core, channel, slot, FLIGHT_NOTIFY);
}

// The arena is the engine's, and used again: in pieces that no port sends by reference.
function pushCopied(channel: Channel, addr: number, bytes: number): void {
  for (let at = 0; at < bytes; at += COPIED_PIECE_BYTES) {
    const left = bytes - at;
    pushVector(channel, addr + at, left < COPIED_PIECE_BYTES ? left : COPIED_PIECE_BYTES);
  }
}

function writeTransferId(
  vector: SendVector,
  word: number,
  slot: TransferSlot,
  generation: Generation,
): void {
  const words = vector.heads.uint32;
  words[word + WORD_TRANSFER_LOW] = slot;
  words[word + WORD_TRANSFER_HIGH] = generation;
}

/** `stagedAddr`: where the bytes of a chunk from GPU memory lie; 0: where the pairs say. */
export function frameChunk(
  core: LaneCore,
  channel: Channel,
  slot: TransferSlot,
  chunk: ChunkIndex,
  stagedAddr: number,
): void {
  const int32 = core.int32;
  const entry = transferWord(core.transfersAt, slot, 0);
  if (int32[entry + TRANSFER_FAILURE] !== 0) {
    confirmChunks(core, slot, 1);
    return;
  }
  const chunkWord = chunkWordOf(core, slot, chunk);
  const bytes = core.uint32[chunkWord + CHUNK_BYTES]!;
  const isWrite = int32[entry + TRANSFER_OPERATION] === OPERATION_WRITE;
  const word = isWrite
    ? beginFrame(channel, FRAME_WRITE, bytes, channel.writes.next)
    : beginFrame(channel, FRAME_READ_REQUEST, 0, channel.reads.next);
  writeTransferId(channel.vector, word, slot, int32[entry + TRANSFER_GENERATION]!);
  const words = channel.vector.heads.uint32;
  if (int32[entry + TRANSFER_COPIED] === 1) askCopy(channel.vector, word, isWrite);
  words[word + WORD_OPERATION_BYTES] = bytes;
  writeRemote(core, words, word, slot, core.uint32[chunkWord + CHUNK_REMOTE_INDEX]!);
  let sum = framePairs(core, channel, word, slot, chunkWord, isWrite && stagedAddr === 0);
  if (stagedAddr !== 0) {
    pushVector(channel, stagedAddr, bytes);
    if (channel.isChecked) sum = crc32At(0, stagedAddr, bytes);
  }
  if (channel.isChecked && isWrite) writeChecksum(channel.vector, word, sum);
  const count = entry + TRANSFER_CHANNEL_CHUNKS + channel.channelIndex;
  const framed = int32[count]! + 1;
  int32[count] = framed;
  channel.credit.addFlight(bytes);
  if (!isWrite) {
    addRead(core, channel, slot, chunk);
    return;
  }
  addWrite(core, channel, slot, chunk);
  if (framed === int32[entry + TRANSFER_CHUNK_COUNT]) followUp(core, channel, slot);
}

// Of the own payload, or of the peer's answer.
function askCopy(vector: SendVector, word: number, isWrite: boolean): void {
  if (isWrite) copyVector(vector);
  else vector.heads.uint32[word + WORD_KIND] = vector.heads.uint32[word + WORD_KIND]! | FLAG_COPIED;
}

// All chunks went this way, in order: the notification may follow at once, unless a chunk may have
// to go again.
function followUp(core: LaneCore, channel: Channel, slot: TransferSlot): void {
  const int32 = core.int32;
  const entry = transferWord(core.transfersAt, slot, 0);
  if (
    int32[entry + TRANSFER_NOTIFY_FRAMED] === 0 &&
    !channel.isChecked &&
    int32[entry + TRANSFER_NOTIFY_BYTES]! >= 0 &&
    hasWriteWindow(channel) &&
    hasRoom(channel.vector)
  ) {
    frameNotify(core, channel, slot);
  }
}

// Remote offsets go into the head, or into a table behind it; local memory into the vector.
// Returns the checksum of what is sent, where one is wanted.
function framePairs(
  core: LaneCore,
  channel: Channel,
  word: number,
  slot: TransferSlot,
  chunkWord: number,
  isInPlace: boolean,
): number {
  const isSummed = isInPlace && channel.isChecked;
  let sum = 0;
  const floats = core.float64;
  const words = channel.vector.heads.uint32;
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
  words[word + WORD_KIND] = words[word + WORD_KIND]! | (pairCount << TABLE_ENTRIES_SHIFT);
  let entry = pushTable(channel, pairCount);
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
