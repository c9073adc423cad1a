// The ranges of one vectored call on a port in memory. Moved by shm-vector.hot.ts.

import { VECTOR_ENTRIES_MAX } from '../port/stream-port.js';

export class ShmVector {
  readonly addr = new Float64Array(VECTOR_ENTRIES_MAX);
  readonly bytes = new Float64Array(VECTOR_ENTRIES_MAX);
  /** The last move found less in the ring, or less room, than the entries have. */
  isShort = false;
}
