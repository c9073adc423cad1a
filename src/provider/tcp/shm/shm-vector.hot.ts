// A vector through a ring: its entries in order, as far as the ring goes.

import { assert } from '../../../base/assert.js';
import { VECTOR_ENTRIES_MAX } from '../port/stream-port.js';
import { moveBytes, publish, refillLooks } from './shm-ring.hot.js';
import type { RingEnd } from './shm-ring.js';
import type { ShmVector } from './shm-vector.js';

/** Moves entries `first` … `count` − 1 and tells the peer: bytes moved, or −EPROTO. */
export function moveVector(ring: RingEnd, vector: ShmVector, first: number, count: number): number {
  assert(first <= count && count <= VECTOR_ENTRIES_MAX, 'a vector has its entries');
  let total = 0;
  vector.isShort = false;
  refillLooks(ring);
  for (let index = first; index < count; index++) {
    const wanted = vector.bytes[index]!;
    // A reader asks, last of all, for what may not come yet.
    const isExpected = ring.isWriter || index < count - 1;
    const moved = moveBytes(ring, vector.addr[index]!, wanted, isExpected);
    if (moved < 0) return moved;
    total += moved;
    if (moved < wanted) {
      vector.isShort = true;
      break;
    }
  }
  if (ring.position !== ring.published) publish(ring);
  return total;
}

/** Forgets `bytes` that were moved, from entry `first`; returns the first with bytes left. */
export function advanceVector(vector: ShmVector, first: number, bytes: number): number {
  let index = first;
  for (let left = bytes; left > 0; index++) {
    assert(index < VECTOR_ENTRIES_MAX, 'no more was moved than the vector has');
    const entry = vector.bytes[index]!;
    if (left < entry) {
      vector.addr[index] = vector.addr[index]! + left;
      vector.bytes[index] = entry - left;
      break;
    }
    left -= entry;
  }
  return index;
}
