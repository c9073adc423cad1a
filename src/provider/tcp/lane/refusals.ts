// Writes of the peer that were refused. Written by refusals.hot.ts.

import { FLOAT_ZERO } from '../../../base/float-zero.js';
import { FLIGHT_SLOTS } from './flight.js';

export class Refusals {
  // Those that wait to be sent, in the order of their sequences.
  count = 0;
  readonly reason = new Int32Array(FLIGHT_SLOTS);
  readonly sequence = new Int32Array(FLIGHT_SLOTS);
  // The last ones, for a fence: a REFUSE frame may die with its channel.
  pastCount = 0;
  readonly pastReason = new Int32Array(FLIGHT_SLOTS);
  readonly pastSequence = new Int32Array(FLIGHT_SLOTS);
  /** Transfer whose last frame was refused: its notification must not be delivered. */
  transferLow = FLOAT_ZERO;
  transferHigh = FLOAT_ZERO;
}
