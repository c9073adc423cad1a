// A peer's access to a region, checked by the owner: registration, key, expiry, rights,
// bounds.

import { assert } from '../base/assert.js';
import {
  REGION_GENERATION,
  REGION_KEY,
  REGION_RIGHTS,
  REGION_USERS,
  type RegionTable,
  regionBytes,
  regionExpiry,
  regionWord,
} from './region-table.js';

export const ACCESS_GRANTED = 0;
export const ACCESS_STALE = 1;
export const ACCESS_KEY = 2;
export const ACCESS_RIGHTS = 3;
export const ACCESS_BOUNDS = 4;
/** The numbers are those of the REFUSE reasons; 5 is about damage, not access. */
export const ACCESS_EXPIRED = 6;

/**
 * Opens an access. When granted, the region counts one user more until closeAccess.
 * `keyWords[keyWord …]` is the key that the peer presented.
 */
export function openAccess(
  table: RegionTable,
  slot: number,
  generation: number,
  keyWords: Uint32Array,
  keyWord: number,
  right: number,
): number {
  if (slot >= table.count) return ACCESS_STALE;
  const int32 = table.int32;
  // Count first, then look: deregistering marks first, then looks at the count.
  Atomics.add(int32, regionWord(slot, REGION_USERS), 1);
  let outcome = ACCESS_GRANTED;
  if (Atomics.load(int32, regionWord(slot, REGION_GENERATION)) !== generation || generation <= 0) {
    outcome = ACCESS_STALE;
  } else {
    // All four words are compared whatever the first says: no timing tells how much was right.
    let difference = 0;
    for (let index = 0; index < 4; index++) {
      difference |= int32[regionWord(slot, REGION_KEY) + index]! ^ keyWords[keyWord + index]!;
    }
    if (difference !== 0) outcome = ACCESS_KEY;
    else if (isExpired(table, slot)) outcome = ACCESS_EXPIRED;
    else if ((int32[regionWord(slot, REGION_RIGHTS)]! & right) === 0) outcome = ACCESS_RIGHTS;
  }
  if (outcome !== ACCESS_GRANTED) closeAccess(table, slot);
  return outcome;
}

// A region without an expiry costs a load and a comparison; the clock is asked for others alone.
function isExpired(table: RegionTable, slot: number): boolean {
  const expiryUs = regionExpiry(table, slot);
  return expiryUs !== 0 && table.clock.nowUs() >= expiryUs;
}

export function isInBounds(table: RegionTable, slot: number, offset: number, bytes: number) {
  return offset + bytes <= regionBytes(table, slot);
}

export function closeAccess(table: RegionTable, slot: number): void {
  const users = Atomics.sub(table.int32, regionWord(slot, REGION_USERS), 1);
  assert(users > 0, 'an access is closed once');
}
