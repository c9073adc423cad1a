// Registered regions as lanes see them: one 64-byte entry each, in shared memory.
//
// The main thread writes an entry and publishes it by storing its generation; lanes check every
// remote access against it. `users` counts accesses in progress, by lanes and by transfers that
// were posted here: memory is let go only when it is 0.

import { floatAt, wordAt } from '../base/assert.js';
import { type Clock, systemClock } from '../base/clock.js';

export const REGION_ENTRY_BYTES = 64;
const ENTRY_WORDS = REGION_ENTRY_BYTES / 4;
const ENTRY_FLOATS = REGION_ENTRY_BYTES / 8;

// Int32 words of an entry.
/** 0 free; g > 0 registered, generation g; −g being deregistered. Written by main. */
export const REGION_GENERATION = 0;
/** Accesses in progress. Added to by lanes and main. */
export const REGION_USERS = 1;
export const REGION_RIGHTS = 2;
/** 0 host memory, n + 1 memory of GPU n. */
export const REGION_DEVICE = 3;
export const REGION_KEY = 4;
// Float64 index within an entry.
const REGION_ADDR = 4;
const REGION_BYTES = 5;
const REGION_EXPIRY = 6;

export const RIGHT_READ = 1;
export const RIGHT_WRITE = 2;

export const REGION_ENTRY_LAYOUT = [
  { name: 'generation', offset: 0, writer: 'main', meaning: '0 free, g registered, −g closing' },
  {
    name: 'users',
    offset: 4,
    writer: 'main and lanes (atomic add)',
    meaning: 'accesses in progress',
  },
  { name: 'rights', offset: 8, writer: 'main', meaning: '1 read, 2 write' },
  {
    name: 'device',
    offset: 12,
    writer: 'main',
    meaning: '0 host memory, n + 1 memory of GPU n',
  },
  { name: 'key', offset: 16, writer: 'main', meaning: '16 random bytes' },
  { name: 'addr', offset: 32, writer: 'main', meaning: 'first byte, as float64' },
  { name: 'bytes', offset: 40, writer: 'main', meaning: 'length, as float64' },
  {
    name: 'expiry',
    offset: 48,
    writer: 'main',
    meaning: 'microseconds of the process clock, as float64; 0 never',
  },
] as const;

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

export function regionWord(slot: number, word: number): number {
  return slot * ENTRY_WORDS + word;
}

export function regionAddr(table: RegionTable, slot: number): number {
  return floatAt(table.float64, slot * ENTRY_FLOATS + REGION_ADDR);
}

/** 0 for host memory and for slots that do not exist, n + 1 for GPU n. */
export function regionDevice(table: RegionTable, slot: number): number {
  return slot < table.count ? wordAt(table.int32, regionWord(slot, REGION_DEVICE)) : 0;
}

export function regionBytes(table: RegionTable, slot: number): number {
  return floatAt(table.float64, slot * ENTRY_FLOATS + REGION_BYTES);
}

export function writeRegionRange(table: RegionTable, slot: number, addr: number, bytes: number) {
  table.float64[slot * ENTRY_FLOATS + REGION_ADDR] = addr;
  table.float64[slot * ENTRY_FLOATS + REGION_BYTES] = bytes;
}

/** When peers are no longer let in; 0 never. */
export function regionExpiry(table: RegionTable, slot: number): number {
  return floatAt(table.float64, slot * ENTRY_FLOATS + REGION_EXPIRY);
}

export function writeRegionExpiry(table: RegionTable, slot: number, expiryUs: number): void {
  table.float64[slot * ENTRY_FLOATS + REGION_EXPIRY] = expiryUs;
}
