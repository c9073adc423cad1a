// A peer's access to a region, checked by the owner: registration, key, expiry, rights,
// bounds.

import { assert } from '../base/assert.js';
import { FAIL_EXPIRED, FAIL_KEY, FAIL_NONE, FAIL_RIGHTS, FAIL_STALE } from '../base/failure.js';
import type { ByteCount, ByteOffset, Generation, RegionSlot } from '../base/quantity.js';
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

/**
 * Opens an access: FAIL_NONE, or why it is refused. When granted, the region counts one user more
 * until closeAccess. `keyWords[keyWord …]` is the key that the peer presented.
 */
export function openAccess(
  table: RegionTable,
  slot: RegionSlot,
  generation: Generation,
  keyWords: Uint32Array,
  keyWord: number,
  right: number,
): number {
  if (slot >= table.count) return FAIL_STALE;
  const int32 = table.int32;
  // Count first, then look: deregistering marks first, then looks at the count.
  Atomics.add(int32, regionWord(slot, REGION_USERS), 1);
  let outcome = FAIL_NONE;
  if (Atomics.load(int32, regionWord(slot, REGION_GENERATION)) !== generation || generation <= 0) {
    outcome = FAIL_STALE;
  } else {
    // All four words are compared whatever the first says: no timing tells how much was right.
    let difference = 0;
    for (let index = 0; index < 4; index++) {
      difference |= int32[regionWord(slot, REGION_KEY) + index]! ^ keyWords[keyWord + index]!;
    }
    if (difference !== 0) outcome = FAIL_KEY;
    else if (isExpired(table, slot)) outcome = FAIL_EXPIRED;
    else if ((int32[regionWord(slot, REGION_RIGHTS)]! & right) === 0) outcome = FAIL_RIGHTS;
  }
  if (outcome !== FAIL_NONE) closeAccess(table, slot);
  return outcome;
}

// A region without an expiry costs a load and a comparison; the clock is asked for others alone.
function isExpired(table: RegionTable, slot: RegionSlot): boolean {
  const expiryUs = regionExpiry(table, slot);
  return expiryUs !== 0 && table.clock.nowUs() >= expiryUs;
}

export function isInBounds(
  table: RegionTable,
  slot: RegionSlot,
  offset: ByteOffset,
  bytes: ByteCount,
) {
  return offset + bytes <= regionBytes(table, slot);
}

export function closeAccess(table: RegionTable, slot: RegionSlot): void {
  const users = Atomics.sub(table.int32, regionWord(slot, REGION_USERS), 1);
  assert(users > 0, 'an access is closed once');
}
