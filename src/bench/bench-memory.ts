// What a benchmark moves: host memory, or memory of a GPU that is filled and verified there, so
// that checking costs no copy. Both ends of a run have the same kind.

import { isTcpxError, TcpxError } from '../base/errors.js';
import { fillPattern, findMismatch } from '../base/pattern.js';
import {
  type DeviceRange,
  type Engine,
  GpuBuffer,
  type PageKind,
  type RegionMemory,
  type RegionSource,
} from '../engine/internal.js';

export type MemoryKind = 'dram' | 'vram';

export interface BenchMemory {
  readonly kind: MemoryKind;
  readonly bytes: number;
  /** What it lies on; a GPU's has no kind of pages that anybody chose. */
  readonly pages: RegionMemory['pages'] | undefined;
  /** What the engine registers. */
  readonly source: RegionSource;
  /** The bytes themselves; GPU memory has none here. */
  readonly view: Uint8Array | undefined;
  fill(offset: number, bytes: number, position: number, seed: number): void;
  /** Waits until what was filled is there. */
  settle(): void;
  /** Index from `offset` of the first byte that differs, or −1. */
  findMismatch(offset: number, bytes: number, position: number, seed: number): number;
  /** After it was deregistered. */
  free(): void;
}

export interface BenchMemoryChoice {
  readonly gpu: number;
  readonly pages: PageKind;
}

export function allocateBenchMemory(
  engine: Engine,
  kind: MemoryKind,
  bytes: number,
  { gpu, pages }: BenchMemoryChoice,
): BenchMemory {
  return kind === 'vram' ? gpuMemory(gpu, bytes) : hostMemory(engine.allocate(bytes, pages));
}

/** Any byte but 0. */
const TOUCHED = 0xa5;

function hostMemory({ buffer, pages }: RegionMemory): BenchMemory {
  const view = new Uint8Array(buffer);
  // Pages that were never written are all the same one, which is always in the cache: a transfer
  // from there says nothing about one from memory.
  view.fill(TOUCHED);
  return {
    kind: 'dram',
    bytes: view.length,
    pages,
    source: view,
    view,
    fill: (offset, count, position, seed) =>
      fillPattern(view.subarray(offset, offset + count), seed, position),
    settle: () => undefined,
    findMismatch: (offset, count, position, seed) =>
      findMismatch(view.subarray(offset, offset + count), seed, position),
    free: () => undefined,
  };
}

function gpuMemory(gpu: number, bytes: number): BenchMemory & { readonly source: DeviceRange } {
  const buffer = allocateGpu(gpu, bytes);
  return {
    kind: 'vram',
    bytes,
    pages: undefined,
    source: { device: gpu, addr: buffer.addr, bytes },
    view: undefined,
    fill: (offset, count, position, seed) => buffer.fill(offset, count, seed, position),
    settle: () => buffer.settle(),
    findMismatch: (offset, count, position, seed) =>
      buffer.findMismatch(offset, count, seed, position),
    free: () => buffer.free(),
  };
}

function allocateGpu(gpu: number, bytes: number): GpuBuffer {
  try {
    return new GpuBuffer(gpu, bytes);
  } catch (error) {
    if (!isTcpxError(error, 'ERR_CAP_GPU')) throw error;
    const hint = 'memory vram needs an NVIDIA GPU and its driver; --memory dram moves host memory';
    throw new TcpxError('ERR_CAP_GPU', `${hint} (${error.message})`, { cause: error });
  }
}
