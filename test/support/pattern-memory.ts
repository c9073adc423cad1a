// Memory that is filled with and verified against one pattern, wherever it lies: host memory, a
// real GPU (kernels), a simulated one. What one kind was filled with another one verifies.

import { fillPattern, verifyPattern } from '../../src/base/pattern.js';
import { GpuBuffer } from '../../src/gpu/gpu-buffer.js';
import type { RegionSource } from '../../src/memory/region.js';
import { simulatedRange } from './gpu-memory.js';

export type MemoryKind = 'dram' | 'vram' | 'simulated';

export interface PatternMemory {
  readonly source: RegionSource;
  fill(offset: number, bytes: number, seed: number, position: number): void;
  /** Index of the first byte that differs, or −1. */
  findMismatch(offset: number, bytes: number, seed: number, position: number): number;
  settle(): void;
  clear(): void;
  free(): void;
}

export function openPatternMemory(kind: MemoryKind, bytes: number): PatternMemory {
  if (kind === 'vram') {
    const buffer = new GpuBuffer(0, bytes);
    return {
      source: { device: 0, addr: buffer.addr, bytes },
      fill: (...words) => buffer.fill(...words),
      findMismatch: (...words) => buffer.findMismatch(...words),
      settle: () => buffer.settle(),
      clear: () => buffer.clear(),
      free: () => buffer.free(),
    };
  }
  const range = simulatedRange(bytes);
  const { memory } = range;
  return {
    source: kind === 'simulated' ? range : memory,
    fill: (offset, count, seed, position) =>
      fillPattern(memory.subarray(offset, offset + count), seed, position),
    findMismatch: (offset, count, seed, position) =>
      verifyPattern(memory.subarray(offset, offset + count), seed, position).firstIndex ?? -1,
    settle: () => undefined,
    clear: () => memory.fill(0),
    free: () => undefined,
  };
}
