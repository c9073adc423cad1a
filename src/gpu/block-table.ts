// Many small blocks of one region and where each lies in a staging buffer: what gather and scatter
// work by, on the CPU and on the GPU.
//
//   one entry, 16 bytes:  0 u64 block offset in the region │ 8 u32 staging offset │ 12 u32 length

import { wordAt } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';

export const BLOCK_ENTRY_BYTES = 16;
export const BLOCK_ENTRY_PARTS = 4;

export interface Block {
  readonly offset: number;
  readonly stagingOffset: number;
  readonly bytes: number;
}

export interface BlockLimits {
  readonly count: number;
  readonly regionBytes: number;
  readonly stagingBytes: number;
}

export function writeBlock(table: Uint32Array, index: number, block: Block): void {
  const at = index * BLOCK_ENTRY_PARTS;
  table[at] = block.offset % 2 ** 32;
  table[at + 1] = Math.floor(block.offset / 2 ** 32);
  table[at + 2] = block.stagingOffset;
  table[at + 3] = block.bytes;
}

/** Throws unless every block lies in both buffers; gives the longest block's length. */
export function validateBlockTable(table: Uint32Array, limits: BlockLimits): number {
  const { count, regionBytes, stagingBytes } = limits;
  if (count * BLOCK_ENTRY_PARTS > table.length) {
    throw blockError(limits, `the table has room for ${table.length / BLOCK_ENTRY_PARTS}`);
  }
  let longestBytes = 0;
  for (let index = 0; index < count; index++) {
    const at = index * BLOCK_ENTRY_PARTS;
    const bytes = wordAt(table, at + 3);
    const end = wordAt(table, at + 1) * 2 ** 32 + wordAt(table, at) + bytes;
    const stagingEnd = wordAt(table, at + 2) + bytes;
    if (end > regionBytes) throw blockError(limits, `block ${index} ends at ${end} of the region`);
    if (stagingEnd > stagingBytes) {
      throw blockError(limits, `block ${index} ends at ${stagingEnd} of the staging buffer`);
    }
    if (bytes > longestBytes) longestBytes = bytes;
  }
  return longestBytes;
}

function blockError(limits: BlockLimits, seen: string): TcpxError {
  const { count, regionBytes, stagingBytes } = limits;
  return new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `${count} blocks of a region of ${regionBytes} bytes with ${stagingBytes} of staging: ${seen}`,
    { facts: { count, regionBytes, stagingBytes } },
  );
}
