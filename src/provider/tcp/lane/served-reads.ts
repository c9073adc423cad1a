// The peer's reads, oldest at `done`: `framed` were framed, `tail` have come, those before
// `confirmed` have landed at the peer, and those before `started` need no device copy any more.
// Written by served-reads.hot.ts and served-copies.hot.ts.

import type { FixedMemory, MemorySource } from '../../../os/fixed-memory.js';
import { TABLE_ENTRIES_MAX } from '../../../wire/data-frame.js';
import { FLIGHT_SLOTS } from './flight.js';

export class ServedReads {
  done = 0;
  confirmed = 0;
  framed = 0;
  tail = 0;
  /** −1 marks one that is refused; its reason stands in `segments`. */
  readonly region = new Int32Array(FLIGHT_SLOTS);
  readonly bytes = new Int32Array(FLIGHT_SLOTS);
  readonly segments = new Int32Array(FLIGHT_SLOTS);
  /** 1 where the answer may go by reference: its region is held until it is confirmed. */
  readonly held = new Int32Array(FLIGHT_SLOTS);
  /** Where the answer ends in the stream. */
  readonly endAt = new Float64Array(FLIGHT_SLOTS);
  /** Two Float64 (address, bytes) per segment of each read that may wait. */
  readonly memory: FixedMemory;

  // Copies out of GPU memory for the answers.
  started = 0;
  readonly device = new Int32Array(FLIGHT_SLOTS);
  readonly slot = new Int32Array(FLIGHT_SLOTS);

  constructor(memory: MemorySource) {
    this.memory = memory.create(FLIGHT_SLOTS * TABLE_ENTRIES_MAX * 16, { isReserveOnly: true });
  }
}
