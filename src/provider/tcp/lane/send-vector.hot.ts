// Frames into a channel's vector: heads in its own memory, payload where it lies.

import { assert } from '../../../base/assert.js';
import type { Address, ByteCount } from '../../../base/quantity.js';
import { crc32At } from '../../../os/fixed-memory.js';
import {
  DATA_HEAD_BYTES,
  FRAME_ACK,
  FRAME_REFUSE,
  HEAD_AND_TABLE_BYTES_MAX,
  TABLE_ENTRIES_MAX,
  TABLE_ENTRIES_SHIFT,
  TABLE_ENTRY_BYTES,
  WORD_ACK,
  WORD_COPY_US,
  WORD_HEAD_CHECK,
  WORD_KIND,
  WORD_OFFSET_LOW,
  WORD_OPERATION_BYTES,
  WORD_PAYLOAD_BYTES,
  WORD_SEQUENCE,
  WORD_TRANSFER_HIGH,
  WORD_TRANSFER_LOW,
} from '../../../wire/data-frame.js';
import { headCheck } from '../../../wire/head-check.hot.js';
import { VECTOR_ENTRIES_MAX } from '../port/stream-port.js';
import type { Channel } from './channel.js';
import { onConfirmed } from './own-reads.hot.js';
import { HEAD_MEMORY_BYTES, type SendVector } from './send-vector.js';

/** One vectored call carries at most this much: the kernel takes what fits, the rest waits. */
const SEND_BATCH_BYTES = 2 * 1024 * 1024;
/** Worth a call of its own, while what would come behind has to be copied first. */
export const SENT_ALONE_BYTES = 64 * 1024;

/** For any frame, and an acknowledgement behind it. */
export function hasRoom(vector: SendVector): boolean {
  return (
    vector.bytes < SEND_BATCH_BYTES &&
    vector.count + TABLE_ENTRIES_MAX + 3 <= VECTOR_ENTRIES_MAX &&
    vector.headBytes + HEAD_AND_TABLE_BYTES_MAX + DATA_HEAD_BYTES <= HEAD_MEMORY_BYTES
  );
}

/** Starts a frame: clears its head, puts it into the vector, returns its first word. */
export function beginFrame(
  channel: Channel,
  kind: number,
  payloadBytes: number,
  sequence: number,
): number {
  const { vector, arrivals } = channel;
  const words = vector.heads.uint32;
  const word = vector.headBytes >> 2;
  words.fill(0, word, word + DATA_HEAD_BYTES / 4);
  words[word + WORD_KIND] = kind;
  words[word + WORD_PAYLOAD_BYTES] = payloadBytes;
  words[word + WORD_ACK] = arrivals.landed;
  arrivals.onAcked();
  words[word + WORD_SEQUENCE] = sequence;
  pushVector(channel, vector.heads.addr + vector.headBytes, DATA_HEAD_BYTES);
  vector.headBytes += DATA_HEAD_BYTES;
  return word;
}

/** A table behind the head; returns its first word. */
export function pushTable(channel: Channel, entries: number): number {
  const { vector } = channel;
  const word = vector.headBytes >> 2;
  const bytes = entries * TABLE_ENTRY_BYTES;
  pushVector(channel, vector.heads.addr + vector.headBytes, bytes);
  vector.headBytes += bytes;
  return word;
}

/** Whoever begins a frame has asked hasRoom. */
export function pushVector(channel: Channel, addr: Address, bytes: ByteCount): void {
  const { vector } = channel;
  channel.port.setSend(vector.count, addr, bytes);
  vector.count++;
  vector.bytes += bytes;
}

/** A range in it may change before the peer has it: all of it is copied. */
export function copyVector(vector: SendVector): void {
  vector.isCopied = true;
}

/** The port took bytes; true when that was the whole vector. */
export function onSent(channel: Channel, sent: number): boolean {
  const { vector } = channel;
  assert(sent <= vector.bytes, 'a port takes no more than there is');
  vector.sentBytes += sent;
  vector.bytes -= sent;
  if (vector.bytes > 0) {
    vector.first = channel.port.advanceSend(vector.first, sent);
    return false;
  }
  vector.first = 0;
  vector.count = 0;
  vector.headBytes = 0;
  vector.isCopied = false;
  return true;
}

export function frameRefusal(
  channel: Channel,
  kind: number,
  sequence: number,
  reason: number,
): number {
  const word = beginFrame(channel, FRAME_REFUSE, 0, sequence);
  const words = channel.vector.heads.uint32;
  words[word + WORD_TRANSFER_LOW] = reason;
  words[word + WORD_TRANSFER_HIGH] = kind;
  return word;
}

/** The payload of the frame at `word`, on a checked channel. */
export function writeChecksum(vector: SendVector, word: number, sum: number): void {
  vector.heads.uint32[word + WORD_OPERATION_BYTES] = sum;
}

/** Nothing in heads and tables changes any more: each is given its check. */
export function sealHeads(vector: SendVector): void {
  const { uint32, addr } = vector.heads;
  const end = vector.headBytes >> 2;
  let word = 0;
  while (word < end) {
    const tableWords =
      ((uint32[word + WORD_KIND]! >>> TABLE_ENTRIES_SHIFT) * TABLE_ENTRY_BYTES) / 4;
    const table = word + DATA_HEAD_BYTES / 4;
    if (tableWords > 0) {
      uint32[word + WORD_OFFSET_LOW] = crc32At(0, addr + table * 4, tableWords * 4);
    }
    uint32[word + WORD_HEAD_CHECK] = headCheck(uint32, word);
    word = table + tableWords;
  }
  assert(word === end, 'heads and tables fill their memory without a gap');
}

export function frameAck(channel: Channel): void {
  const { reads, credit } = channel;
  const word = beginFrame(channel, FRAME_ACK, 0, reads.done);
  onConfirmed(reads);
  const words = channel.vector.heads.uint32;
  words[word + WORD_OPERATION_BYTES] = credit.granted;
  words[word + WORD_COPY_US] = channel.landing.copiedUs;
  credit.onGrantTold();
}
