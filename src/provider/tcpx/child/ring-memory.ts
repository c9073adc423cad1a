// Buffers of a channel: what the plugin sends from and receives into.

import { mapMemory, unmapMemory } from '../../../ffi/libc/mapping.js';

/** Of registrations, rings and the bounce buffer. */
export const PAGE_BYTES = 4096;

export interface RingMemory {
  readonly addr: number;
  readonly bytes: number;
  /** With which it is registered. */
  readonly pointerType: number;
  free(): void;
}

/** The next border of a page, of addresses and lengths. */
export function roundToPage(value: number): number {
  return Math.ceil(value / PAGE_BYTES) * PAGE_BYTES;
}

export function hostRing(bytes: number, pointerType: number): RingMemory {
  const mapping = mapMemory(roundToPage(bytes), { isPopulated: true });
  const { addr } = mapping;
  return { addr, bytes: mapping.bytes, pointerType, free: () => unmapMemory(mapping) };
}
