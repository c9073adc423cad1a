// Frames between the socket and GPU memory: the one that is being received, and head … tail that
// were received in full, in order, and wait for their device copy. Written by landing.hot.ts.

import { FLOAT_ZERO } from '../../../base/float-zero.js';
import { TABLE_ENTRIES_MAX } from '../../../wire/data-frame.js';
import { FLIGHT_SLOTS } from './flight.js';
import { NO_SLOT } from './stager.js';

export const LAND_WRITE = 1;
export const LAND_READ = 2;
/** The peer refused a read; `low` is the reason. */
export const LAND_READ_REFUSED = 3;
/** An answer that arrived with a wrong checksum: asked for again. */
export const LAND_READ_DAMAGED = 4;

export class Landing {
  // The frame that is being received: its slot, and the blocks of device memory it is for.
  frameDevice = 0;
  frameSlot = NO_SLOT;
  frameLow = 0;
  frameHigh = 0;
  blockCount = 0;
  readonly blockAddr = new Float64Array(TABLE_ENTRIES_MAX);
  readonly blockBytes = new Float64Array(TABLE_ENTRIES_MAX);

  head = 0;
  tail = 0;
  /** Of the peer's writes that have landed, in µs, as a sum that wraps. */
  copiedUs = FLOAT_ZERO;
  readonly kind = new Int32Array(FLIGHT_SLOTS);
  readonly device = new Int32Array(FLIGHT_SLOTS);
  /** NO_SLOT: it only waits for those before it. */
  readonly slot = new Int32Array(FLIGHT_SLOTS);
  /** Region of ours that stays open until the copy is done, −1 without one. */
  readonly region = new Int32Array(FLIGHT_SLOTS);
  readonly low = new Int32Array(FLIGHT_SLOTS);
  readonly high = new Int32Array(FLIGHT_SLOTS);
}
