// Slots of the out pools that a channel holds while their bytes may still be read. Written by
// held-slots.hot.ts.

import { FLIGHT_SLOTS } from './flight.js';
import { NO_SLOT } from './stager.js';

export class HeldSlots {
  /** Of all, for chunks and for answers, from the copy on. */
  outHeld = 0;
  /** By own WRITE in flight: the slot that its bytes are sent from by reference, or NO_SLOT. */
  readonly flightDevice = new Int32Array(FLIGHT_SLOTS);
  readonly flightSlot = new Int32Array(FLIGHT_SLOTS).fill(NO_SLOT);
  flightHeld = 0;
  /** Slots whose bytes are in the vector that is being sent, by reference. */
  vectorHeld = 0;
  /** By copy. */
  vectorCount = 0;
  readonly vectorDevice = new Int32Array(FLIGHT_SLOTS);
  readonly vectorSlot = new Int32Array(FLIGHT_SLOTS);
}
