// Checks on a received head: pure functions over words, no allocation.

import { isRefusal } from '../base/failure.js';
import {
  FLAG_COPIED,
  FLAG_HELD,
  FRAME_ACK,
  FRAME_KIND_MAX,
  FRAME_NOTIFY,
  FRAME_READ_DATA,
  FRAME_READ_REQUEST,
  FRAME_REFUSE,
  FRAME_SIGNAL,
  FRAME_WRITE,
  NOTIFICATION_BYTES_MAX,
  TABLE_ENTRIES_MAX,
  TABLE_ENTRIES_SHIFT,
  TABLE_ENTRY_BYTES,
  WORD_HEAD_CHECK,
  WORD_KIND,
  WORD_OFFSET_HIGH,
  WORD_OPERATION_BYTES,
  WORD_PAYLOAD_BYTES,
  WORD_TRANSFER_HIGH,
  WORD_TRANSFER_LOW,
} from './data-frame.js';

/** Offsets travel as 64 bits but must be exact as a Number: below 2^53. */
const HIGH_WORD_LIMIT = 0x200000;
const TWO_32 = 4294967296;

// Rules that a head can break; their texts are in data-frame-rules.ts.
export const RULE_NONE = 0;
export const RULE_KIND = 1;
export const RULE_RESERVED = 2;
export const RULE_TABLE_ENTRIES = 3;
export const RULE_CHUNK_BYTES = 4;
export const RULE_PAYLOAD_BYTES = 5;
export const RULE_OFFSET = 6;
export const RULE_TABLE_SUM = 7;
export const RULE_REFUSAL = 12;

/**
 * RULE_NONE, or the first rule that the head at `word` breaks. In a checked session its own check
 * has been found right before.
 */
export function checkHead(
  words: Uint32Array,
  word: number,
  chunkBytesMax: number,
  isChecked: boolean,
): number {
  const first = words[word + WORD_KIND]!;
  const kind = first & 255;
  const flags = first & 0xff00;
  if (kind === 0 || kind > FRAME_KIND_MAX) return RULE_KIND;
  if (flags !== 0 && flags !== flagOf(kind)) return RULE_RESERVED;
  if (!isChecked && words[word + WORD_HEAD_CHECK]! !== 0) return RULE_RESERVED;
  const payloadBytes = words[word + WORD_PAYLOAD_BYTES]!;
  // With a checksum in its place the length is the payload's.
  const isSum = isChecked && kind !== FRAME_READ_REQUEST;
  const operationBytes = isSum ? payloadBytes : words[word + WORD_OPERATION_BYTES]!;
  const entries = first >>> TABLE_ENTRIES_SHIFT;
  if (entries > TABLE_ENTRIES_MAX) return RULE_TABLE_ENTRIES;
  if (words[word + WORD_OFFSET_HIGH]! >= HIGH_WORD_LIMIT) return RULE_OFFSET;
  switch (kind) {
    case FRAME_WRITE:
      if (operationBytes > chunkBytesMax || operationBytes === 0) return RULE_CHUNK_BYTES;
      return payloadBytes === operationBytes ? RULE_NONE : RULE_PAYLOAD_BYTES;
    case FRAME_READ_REQUEST:
      if (operationBytes > chunkBytesMax || operationBytes === 0) return RULE_CHUNK_BYTES;
      return payloadBytes === 0 ? RULE_NONE : RULE_PAYLOAD_BYTES;
    case FRAME_READ_DATA:
      if (entries !== 0) return RULE_TABLE_ENTRIES;
      if (operationBytes > chunkBytesMax || operationBytes === 0) return RULE_CHUNK_BYTES;
      return payloadBytes === operationBytes ? RULE_NONE : RULE_PAYLOAD_BYTES;
    case FRAME_NOTIFY:
    case FRAME_SIGNAL:
      if (entries !== 0) return RULE_TABLE_ENTRIES;
      return payloadBytes <= NOTIFICATION_BYTES_MAX ? RULE_NONE : RULE_PAYLOAD_BYTES;
    case FRAME_ACK:
      if (entries !== 0) return RULE_TABLE_ENTRIES;
      return payloadBytes === 0 ? RULE_NONE : RULE_PAYLOAD_BYTES;
    case FRAME_REFUSE:
      if (entries !== 0) return RULE_TABLE_ENTRIES;
      if (payloadBytes !== 0) return RULE_PAYLOAD_BYTES;
      return isRefusalHead(words, word) ? RULE_NONE : RULE_REFUSAL;
    default:
      return RULE_KIND;
  }
}

function flagOf(kind: number): number {
  if (kind === FRAME_READ_DATA) return FLAG_HELD;
  return kind === FRAME_READ_REQUEST ? FLAG_COPIED : 0;
}

function isRefusalHead(words: Uint32Array, word: number): boolean {
  const reason = words[word + WORD_TRANSFER_LOW]!;
  const kind = words[word + WORD_TRANSFER_HIGH]!;
  if (!isRefusal(reason)) return false;
  return kind === FRAME_WRITE || kind === FRAME_READ_REQUEST;
}

/** RULE_NONE, or the rule that a descriptor table breaks: its blocks must fill the operation. */
export function checkTable(
  words: Uint32Array,
  word: number,
  entries: number,
  operationBytes: number,
): number {
  let sum = 0;
  for (let index = 0; index < entries; index++) {
    const at = word + index * (TABLE_ENTRY_BYTES / 4);
    if (words[at + 1]! >= HIGH_WORD_LIMIT) return RULE_OFFSET;
    if (words[at + 3]! !== 0) return RULE_RESERVED;
    const bytes = words[at + 2]!;
    if (bytes === 0) return RULE_TABLE_SUM;
    sum += bytes;
  }
  return sum === operationBytes ? RULE_NONE : RULE_TABLE_SUM;
}

export function readLong(words: Uint32Array, lowWord: number): number {
  return words[lowWord + 1]! * TWO_32 + words[lowWord]!;
}

export function writeLong(words: Uint32Array, lowWord: number, value: number): void {
  words[lowWord] = value; // stored modulo 2^32
  words[lowWord + 1] = value / TWO_32;
}
