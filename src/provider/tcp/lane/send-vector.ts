// What a channel is sending: entries first … count − 1 of the port's vector are still to go. Heads
// and tables lie in memory of the channel, payload where it is. Written by send-vector.hot.ts.

import { assert } from '../../../base/assert.js';
import { FLOAT_ZERO } from '../../../base/float-zero.js';
import type { FixedMemory, MemorySource } from '../../../os/fixed-memory.js';
import { TABLE_ENTRIES_MAX, TABLE_ENTRY_BYTES } from '../../../wire/data-frame.js';
import { ZERO_COPY_BYTES_MIN } from '../port/stream-port.js';

/** Heads and tables of the frames in one vectored send. */
export const HEAD_MEMORY_BYTES = 128 * 1024;

assert(
  TABLE_ENTRIES_MAX * TABLE_ENTRY_BYTES < ZERO_COPY_BYTES_MIN,
  'a table is too short to go by zero-copy',
);

export class SendVector {
  readonly heads: FixedMemory;
  /** Of the heads' memory: used by frames of this vector. */
  headBytes = 0;
  first = 0;
  count = 0;
  /** Still to go. */
  bytes = 0;
  /** The vector has ranges that nobody holds: all of it must be copied. */
  isCopied = false;
  /** Since the channel was added. */
  sentBytes = FLOAT_ZERO;

  constructor(memory: MemorySource) {
    this.heads = memory.create(HEAD_MEMORY_BYTES, { isLow: true });
  }
}
