// Unpack, gather and scatter on host memory: the same contract as the kernels, for machines without
// a GPU and as the reference that the kernels are tested against. Lists are validated before.

import { wordAt } from '../base/assert.js';
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
    const sourceOffset = wordAt(entries, at);
    const bytes = wordAt(entries, at + 1);
    const targetOffset = wordAt(entries, at + 3) * 2 ** 32 + wordAt(entries, at + 2);
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
    const offset = wordAt(table, at + 1) * 2 ** 32 + wordAt(table, at);
    const bytes = wordAt(table, at + 3);
    staging.set(region.subarray(offset, offset + bytes), wordAt(table, at + 2));
  }
}

export function scatterHost(
  table: Uint32Array,
  count: number,
  staging: Uint8Array,
  region: Uint8Array,
): void {
  for (let at = 0; at < count * BLOCK_ENTRY_PARTS; at += BLOCK_ENTRY_PARTS) {
    const offset = wordAt(table, at + 1) * 2 ** 32 + wordAt(table, at);
    const stagingOffset = wordAt(table, at + 2);
    const bytes = wordAt(table, at + 3);
    region.set(staging.subarray(stagingOffset, stagingOffset + bytes), offset);
  }
}
