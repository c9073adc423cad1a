// Own READ_REQUEST frames in flight, oldest at `done`; those before `arrived` are answered. Written
// by own-reads.hot.ts.

import { FLIGHT_SLOTS } from './flight.js';

export class OwnReads {
  next = 0;
  arrived = 0;
  done = 0;
  /** The peer holds memory for answers until it is told that they have landed. */
  isConfirmWanted = false;
  /** Answers that an ACK has told the peer of. */
  told = 0;
  readonly transfer = new Int32Array(FLIGHT_SLOTS);
  /** Or FLIGHT_DRAINED. */
  readonly chunk = new Int32Array(FLIGHT_SLOTS);
  /** When it was framed, and what the channel had delivered by then. */
  readonly sentUs = new Float64Array(FLIGHT_SLOTS);
  readonly deliveredAt = new Float64Array(FLIGHT_SLOTS);
}
