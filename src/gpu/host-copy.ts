// Unpack, gather and scatter on host memory: the same contract as the kernels, for machines without
// a GPU and as the reference that the kernels are tested against. Lists are validated before.

import { BLOCK_ENTRY_PARTS } from './block-table.js';
import { ENTRY_PARTS } from './scatter-entry.js';
import type { ScatterEntries } from './scatter-list.js';

export function unpackHost(
  entries: ScatterEntries,
  count: number,
  bounce: Uint8Array,
  target: Uint8Array,
): void {
  for (let at = 0; at < count * ENTRY_PARTS; at += ENTRY_PARTS) {
    const sourceOffset = entries[at] ?? 0;
    const bytes = entries[at + 1] ?? 0;
    const targetOffset = (entries[at + 3] ?? 0) * 2 ** 32 + (entries[at + 2] ?? 0);
    target.set(bounce.subarray(sourceOffset, sourceOffset + bytes), targetOffset);
  }
}

export function gatherHost(
  table: Uint32Array,
  count: number,
  region: Uint8Array,
  staging: Uint8Array,
): void {
  for (let at = 0; at < count * BLOCK_ENTRY_PARTS; at += BLOCK_ENTRY_PARTS) {
    const offset = (table[at + 1] ?? 0) * 2 ** 32 + (table[at] ?? 0);
    const bytes = table[at + 3] ?? 0;
    staging.set(region.subarray(offset, offset + bytes), table[at + 2] ?? 0);
  }
}

export function scatterHost(
  table: Uint32Array,
  count: number,
  staging: Uint8Array,
  region: Uint8Array,
): void {
  for (let at = 0; at < count * BLOCK_ENTRY_PARTS; at += BLOCK_ENTRY_PARTS) {
    const offset = (table[at + 1] ?? 0) * 2 ** 32 + (table[at] ?? 0);
    const stagingOffset = table[at + 2] ?? 0;
    const bytes = table[at + 3] ?? 0;
    region.set(staging.subarray(stagingOffset, stagingOffset + bytes), offset);
  }
}
