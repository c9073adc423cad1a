// Descriptors of memory that JavaScript owns: NIXL's lists hold addresses, and an address alone
// keeps nothing alive.

import { checkWhole } from '../base/argument.js';
import { memoryRange, type RegionSource } from '../memory/region.js';
import type { BlobDesc } from './descriptors.js';

/** A range of host memory that keeps its memory alive. */
export interface HostDesc extends BlobDesc {
  /** Held here, so that the memory lives as long as whoever holds the descriptor. */
  readonly memory: RegionSource;
}

/** The whole of a view or buffer. A registration keeps its descriptor, and so the memory. */
export function describeMemory(memory: RegionSource, devId = 0): HostDesc {
  checkWhole('describeMemory: devId', devId);
  const { addr, bytes } = memoryRange(memory);
  return { addr, len: bytes, devId, memory };
}
