// A ring of records between one writing and one reading thread, in shared memory.
//
//   header (256 bytes)                     data (power of two)
//   ┌──────────────────┬──────────────────┬───────┬─────────┬──────┬────────────┐
//   │ tail: writer     │ head: reader     │ …free │ record  │record│ free …     │
//   │ line 0, word 0   │ line 1, word 32  │       │ ▲ head  │      │ ▲ tail     │
//   └──────────────────┴──────────────────┴───────┴─────────┴──────┴────────────┘
//
// A record is [bytes u32][kind u32][payload], padded to 8 bytes, never split: one that would not
// fit before the end is preceded by a filler (kind 0). Cursors count bytes modulo 2^32.

import { assert } from '../base/assert.js';
import { fieldIndex } from '../base/shared-block.js';
import { RING_BLOCK } from '../base/shared-layout.js';

export const RING_HEADER_BYTES = RING_BLOCK.bytes;
const RING_TAIL = fieldIndex(RING_BLOCK, 'tail');
const RING_HEAD = fieldIndex(RING_BLOCK, 'head');

export const RECORD_HEADER_BYTES = 8;
export const RECORD_FILLER = 0;
/** Words before the bytes of a notification record, see EVENT_NOTIFICATION. */
export const NOTIFICATION_EVENT_BYTES = 16;

export class RecordRing {
  readonly int32: Int32Array;
  readonly uint8: Uint8Array;
  readonly tailWord: number;
  readonly headWord: number;
  /** First byte and first word of the data area. */
  readonly dataByte: number;
  readonly capacityBytes: number;
  // Private to one side: the writer's tail and the reader's head, before they are published.
  tail: number;
  head: number;

  constructor(
    memory: { readonly int32: Int32Array; readonly uint8: Uint8Array },
    byteOffset: number,
    capacityBytes: number,
  ) {
    assert((capacityBytes & (capacityBytes - 1)) === 0, 'ring capacity is a power of two');
    this.int32 = memory.int32;
    this.uint8 = memory.uint8;
    this.tailWord = byteOffset / 4 + RING_TAIL;
    this.headWord = byteOffset / 4 + RING_HEAD;
    this.dataByte = byteOffset + RING_HEADER_BYTES;
    this.capacityBytes = capacityBytes;
    this.tail = Atomics.load(this.int32, this.tailWord);
    this.head = Atomics.load(this.int32, this.headWord);
  }
}
