// Own WRITE, NOTIFY and SIGNAL frames in flight, oldest at `acked`. Written by own-writes.hot.ts.

import { FLOAT_ZERO } from '../../../base/float-zero.js';
import { FLIGHT_SLOTS } from './flight.js';

export class OwnWrites {
  next = 0;
  acked = 0;
  readonly transfer = new Int32Array(FLIGHT_SLOTS);
  /** Or FLIGHT_NOTIFY …: what stands in place of a chunk. */
  readonly chunk = new Int32Array(FLIGHT_SLOTS);
  /** Where the frame ends in the stream: nobody can have received it before that was sent. */
  readonly endAt = new Float64Array(FLIGHT_SLOTS);
  /** When it was framed, and what the channel had delivered by then. */
  readonly sentUs = new Float64Array(FLIGHT_SLOTS);
  readonly deliveredAt = new Float64Array(FLIGHT_SLOTS);
  /** What the peer has told of its copies into GPU memory, in µs, as a sum that wraps. */
  peerCopiedUs = FLOAT_ZERO;
}
