// Own chunks on their way from GPU memory to the socket. Cursors are 32-bit and wrap:
//
//   head … started: copying or ready │ started … tail: claimed, waiting for a slot
//
// Written by out-copies.hot.ts.

import { FLIGHT_SLOTS } from './flight.js';
import { NO_SLOT } from './stager.js';

export class OutCopies {
  head = 0;
  started = 0;
  tail = 0;
  readonly device = new Int32Array(FLIGHT_SLOTS);
  readonly slot = new Int32Array(FLIGHT_SLOTS);
  readonly transfer = new Int32Array(FLIGHT_SLOTS);
  readonly chunk = new Int32Array(FLIGHT_SLOTS);
  /** The chunk that takeCopied has just handed out, and its slot. */
  copiedTransfer = 0;
  copiedChunk = 0;
  copiedDevice = 0;
  copiedSlot = NO_SLOT;
}
