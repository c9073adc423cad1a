// The peer's reads, oldest at `done`: `framed` were framed, `tail` have come, those before
// `confirmed` have landed at the peer, and those before `started` need no device copy any more.
// Written by served-reads.hot.ts and served-copies.hot.ts.
//
// Places lie densely in a ring, from its beginning whenever none wait: what a peer makes us hold
// grows with what it has sent.

import type { FixedMemory, MemorySource } from '../../../os/fixed-memory.js';
import { TABLE_ENTRIES_MAX } from '../../../wire/data-frame.js';
import { FLIGHT_SLOTS } from './flight.js';

/** A shorter answer is copied: that costs less than to confirm it. */
export const HELD_BYTES_MIN = 128 * 1024;

export class ServedReads {
  done = 0;
  confirmed = 0;
  framed = 0;
  tail = 0;
  /** −1 marks one that is refused; its reason stands in `segments`. */
  readonly region = new Int32Array(FLIGHT_SLOTS);
  readonly bytes = new Int32Array(FLIGHT_SLOTS);
  readonly segments = new Int32Array(FLIGHT_SLOTS);
  /** 1 where the answer may go by reference: its region, or slot, is held until it is confirmed. */
  readonly held = new Int32Array(FLIGHT_SLOTS);
  /** 1 where the peer wants a copy, and this end leaves it the choice. */
  readonly copied = new Int32Array(FLIGHT_SLOTS);
  /** Where the answer ends in the stream. */
  readonly endAt = new Float64Array(FLIGHT_SLOTS);
  /** Where its places begin in the ring, and how many it has there until it is framed. */
  readonly placeAt = new Int32Array(FLIGHT_SLOTS);
  readonly placeCount = new Int32Array(FLIGHT_SLOTS);
  /** A ring of two Float64 (address, bytes) per place; those held end before `placesTail`. */
  readonly memory: FixedMemory;
  readonly placesMax: number;
  placesTail = 0;
  placesHeld = 0;

  // Copies out of GPU memory for the answers.
  started = 0;
  readonly device = new Int32Array(FLIGHT_SLOTS);
  readonly slot = new Int32Array(FLIGHT_SLOTS);

  constructor(memory: MemorySource, windowChunks: number) {
    this.placesMax = windowChunks * TABLE_ENTRIES_MAX;
    this.memory = memory.create(placeBytes(windowChunks), { isReserveOnly: true });
  }
}

/** What the places of a window of reads take at most. */
export function placeBytes(windowChunks: number): number {
  return windowChunks * TABLE_ENTRIES_MAX * 16;
}

/** The place that follows in the ring. */
export function nextPlace(served: ServedReads, place: number): number {
  return place + 1 === served.placesMax ? 0 : place + 1;
}
