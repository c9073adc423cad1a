// Frames on a data channel: a fixed head, an optional descriptor table, then the payload.
//
//   ┌──────────────┬───────────────────────────┬───────────────────────┐
//   │ head 64 bytes│ table: entries × 16 bytes │ payload: payloadBytes │
//   └──────────────┴───────────────────────────┴───────────────────────┘
//
// Little-endian. Every head carries the cumulative acknowledgement of the opposite direction.

import { assert } from '../base/assert.js';
import { declareFrame, type FrameField } from './frame-fields.js';

export const DATA_HEAD_BYTES = 64;
export const TABLE_ENTRY_BYTES = 16;
/** Table entries of one frame: with its head they fit in one vectored call of 1,024 entries. */
export const TABLE_ENTRIES_MAX = 1000;
export const HEAD_AND_TABLE_BYTES_MAX = DATA_HEAD_BYTES + TABLE_ENTRIES_MAX * TABLE_ENTRY_BYTES;
export const NOTIFICATION_BYTES_MAX = 64 * 1024;

export const FRAME_WRITE = 1;
export const FRAME_READ_REQUEST = 2;
export const FRAME_READ_DATA = 3;
export const FRAME_NOTIFY = 4;
export const FRAME_ACK = 5;
export const FRAME_REFUSE = 6;
/** Between the engines: like NOTIFY, but not for the program. */
export const FRAME_SIGNAL = 7;
export const FRAME_KIND_MAX = 7;

/** In the second byte, of a READ_DATA: the sender holds its memory until that is confirmed. */
export const FLAG_HELD = 0x100;

/**
 * Likewise, of a READ_REQUEST: the answer shall be copied rather than held; over shared memory,
 * through the cache.
 */
export const FLAG_COPIED = 0x200;

/** In the first word: where the number of table entries begins. */
export const TABLE_ENTRIES_SHIFT = 16;

export const FRAME_NAMES = [
  '',
  'WRITE',
  'READ_REQUEST',
  'READ_DATA',
  'NOTIFY',
  'ACK',
  'REFUSE',
  'SIGNAL',
] as const;

// 32-bit word indexes of the head.
export const WORD_KIND = 0;
export const WORD_PAYLOAD_BYTES = 1;
export const WORD_ACK = 2;
export const WORD_SEQUENCE = 3;
export const WORD_TRANSFER_LOW = 4;
export const WORD_TRANSFER_HIGH = 5;
export const WORD_HEAD_CHECK = 6;
export const WORD_REGION_SLOT = 7;
/** Where no region is named: how long copies of GPU memory took. */
export const WORD_COPY_US = 7;
export const WORD_REGION_GENERATION = 8;
export const WORD_KEY = 9;
export const WORD_OPERATION_BYTES = 13;
export const WORD_OFFSET_LOW = 14;
export const WORD_OFFSET_HIGH = 15;

export const DATA_HEAD_FIELDS: readonly FrameField[] = declareFrame(DATA_HEAD_BYTES, [
  {
    name: 'kind',
    offset: 0,
    bytes: 1,
    meaning: '1 WRITE, 2 READ_REQUEST, 3 READ_DATA, 4 NOTIFY, 5 ACK, 6 REFUSE, 7 SIGNAL',
  },
  {
    name: 'flags',
    offset: 1,
    bytes: 1,
    meaning:
      'bit 0, READ_DATA alone: the answer shall be confirmed; bit 1, READ_REQUEST alone: the ' +
      'answer shall leave as a copy, over shared memory through the cache; all others zero',
  },
  {
    name: 'tableEntries',
    offset: 2,
    bytes: 2,
    meaning: 'descriptors in the table; 0: the one descriptor is in this head',
  },
  { name: 'payloadBytes', offset: 4, bytes: 4, meaning: 'bytes that follow head and table' },
  {
    name: 'acknowledged',
    offset: 8,
    bytes: 4,
    meaning:
      'how many WRITE, NOTIFY and SIGNAL frames of the other direction have landed, modulo 2^32',
  },
  {
    name: 'sequence',
    offset: 12,
    bytes: 4,
    meaning:
      'WRITE, NOTIFY, SIGNAL: count of such frames before this one; READ_REQUEST, READ_DATA: ' +
      'number of the request; REFUSE: sequence of the refused frame; ACK: how many READ_DATA, or ' +
      'REFUSE of a read, of the other direction have landed',
  },
  {
    name: 'transfer',
    offset: 16,
    bytes: 8,
    meaning:
      'transfer id of the initiator; REFUSE: reason in the low word, refused kind in the high word',
  },
  {
    name: 'headCheck',
    offset: 24,
    bytes: 4,
    meaning: 'checked session: CRC-32 of this head, these four bytes taken as zero; else zero',
  },
  {
    name: 'regionSlot',
    offset: 28,
    bytes: 4,
    meaning:
      'WRITE, READ_REQUEST: region at the target; READ_DATA: microseconds that it took to copy ' +
      'the answer out of GPU memory, else zero; ACK: the sum of those for copies into GPU ' +
      'memory, of all frames that have landed on this connection, modulo 2^32',
  },
  { name: 'regionGeneration', offset: 32, bytes: 4, meaning: 'which registration of that slot' },
  {
    name: 'regionKey',
    offset: 36,
    bytes: 16,
    meaning: 'proof that the owner handed out the descriptor',
  },
  {
    name: 'operationBytes',
    offset: 52,
    bytes: 4,
    meaning:
      'bytes that the operation moves; checked session, every kind with a payload: CRC-32 of the ' +
      'payload; ACK: credit in chunks, 0 none given',
  },
  {
    name: 'offset',
    offset: 56,
    bytes: 8,
    meaning:
      'place in the region, when tableEntries is 0; checked session, with a table: CRC-32 of the ' +
      'table in the first four bytes',
  },
]);

export const TABLE_ENTRY_FIELDS: readonly FrameField[] = declareFrame(TABLE_ENTRY_BYTES, [
  { name: 'offset', offset: 0, bytes: 8, meaning: 'place in the region' },
  { name: 'bytes', offset: 8, bytes: 4, meaning: 'length of the block, at least 1' },
  { name: 'reserved', offset: 12, bytes: 4, meaning: 'zero' },
]);

// Words are written and read through Uint32Array, in the byte order of the host.
assert(new Uint8Array(new Uint32Array([1]).buffer)[0] === 1, 'host is little-endian');
