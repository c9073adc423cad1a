// What a benchmark moves: host memory, or memory of a GPU that is filled and verified there, so
// that checking costs no copy. Both ends of a run have the same kind.

import { isTcpxError, TcpxError } from '../base/errors.js';
import { fillPattern, findMismatch } from '../base/pattern.js';
import {
  type DeviceRange,
  type Engine,
  GpuBuffer,
  type RegionSource,
  tcpxOf,
} from '../engine/internal.js';

export type MemoryKind = 'dram' | 'vram';

export interface BenchMemory {
  readonly kind: MemoryKind;
  readonly bytes: number;
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

export function allocateBenchMemory(
  engine: Engine,
  kind: MemoryKind,
  bytes: number,
  gpu: number,
): BenchMemory {
  return kind === 'vram' ? gpuMemory(gpu, bytes) : hostMemory(engine, bytes);
}

function hostMemory(engine: Engine, bytes: number): BenchMemory {
  // A plugin reaches normal pages alone.
  const pages = tcpxOf(engine) === undefined ? 'prefer-huge' : 'normal';
  return hostMemoryOver(new Uint8Array(engine.allocate(bytes, pages).buffer));
}

/** Any byte but 0. */
const TOUCHED = 0xa5;

function hostMemoryOver(view: Uint8Array): BenchMemory {
  // Pages that were never written are all the same one, which is always in the cache: a transfer
  // from there says nothing about one from memory.
  view.fill(TOUCHED);
  return {
    kind: 'dram',
    bytes: view.length,
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
