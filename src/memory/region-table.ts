// Registered regions as lanes see them: one entry each, in shared memory (base/shared-layout.ts).
//
// The main thread writes an entry and publishes it by storing its generation; lanes check every
// remote access against it. `users` counts accesses in progress, by lanes and by transfers that
// were posted here: memory is let go only when it is 0.

import { floatAt, wordAt } from '../base/assert.js';
import { type Clock, systemClock } from '../base/clock.js';
import type { Address, ByteCount, RegionSlot } from '../base/quantity.js';
import { fieldIndex } from '../base/shared-block.js';
import { REGION_BLOCK } from '../base/shared-layout.js';

export const REGION_ENTRY_BYTES = REGION_BLOCK.bytes;
const ENTRY_WORDS = REGION_ENTRY_BYTES / 4;
const ENTRY_FLOATS = REGION_ENTRY_BYTES / 8;

export const REGION_GENERATION = fieldIndex(REGION_BLOCK, 'generation');
export const REGION_USERS = fieldIndex(REGION_BLOCK, 'users');
export const REGION_RIGHTS = fieldIndex(REGION_BLOCK, 'rights');
export const REGION_DEVICE = fieldIndex(REGION_BLOCK, 'device');
export const REGION_KEY = fieldIndex(REGION_BLOCK, 'key');
const REGION_ADDR = fieldIndex(REGION_BLOCK, 'addr');
const REGION_BYTES = fieldIndex(REGION_BLOCK, 'bytes');
const REGION_EXPIRY = fieldIndex(REGION_BLOCK, 'expiry');

export const RIGHT_READ = 1;
export const RIGHT_WRITE = 2;

export interface RegionTable {
  readonly count: number;
  readonly int32: Int32Array;
  readonly float64: Float64Array;
  /** Asked only about regions that expire. */
  readonly clock: Clock;
}

export function regionTableOver(
  memory: { readonly int32: Int32Array; readonly float64: Float64Array },
  byteOffset: number,
  count: number,
  clock: Clock = systemClock,
): RegionTable {
  return {
    count,
    clock,
    int32: memory.int32.subarray(byteOffset / 4, byteOffset / 4 + count * ENTRY_WORDS),
    float64: memory.float64.subarray(byteOffset / 8, byteOffset / 8 + count * ENTRY_FLOATS),
  };
}

export function regionWord(slot: RegionSlot, word: number): number {
  return slot * ENTRY_WORDS + word;
}

export function regionAddr(table: RegionTable, slot: RegionSlot): Address {
  return floatAt(table.float64, slot * ENTRY_FLOATS + REGION_ADDR);
}

/** 0 for host memory and for slots that do not exist, n + 1 for GPU n. */
export function regionDevice(table: RegionTable, slot: number): number {
  return slot < table.count ? wordAt(table.int32, regionWord(slot, REGION_DEVICE)) : 0;
}

export function regionBytes(table: RegionTable, slot: RegionSlot): ByteCount {
  return floatAt(table.float64, slot * ENTRY_FLOATS + REGION_BYTES);
}

export function writeRegionRange(
  table: RegionTable,
  slot: RegionSlot,
  addr: Address,
  bytes: ByteCount,
) {
  table.float64[slot * ENTRY_FLOATS + REGION_ADDR] = addr;
  table.float64[slot * ENTRY_FLOATS + REGION_BYTES] = bytes;
}

/** When peers are no longer let in; 0 never. */
export function regionExpiry(table: RegionTable, slot: number): number {
  return floatAt(table.float64, slot * ENTRY_FLOATS + REGION_EXPIRY);
}

export function writeRegionExpiry(table: RegionTable, slot: RegionSlot, expiryUs: number): void {
  table.float64[slot * ENTRY_FLOATS + REGION_EXPIRY] = expiryUs;
}
