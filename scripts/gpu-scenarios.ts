// What the GPU benchmark sets up: windows of fragmented chunks and tables of small blocks, rotated
// among several sets so that together they exceed the L2 cache. Content is checked after each.

import { fillPattern } from '../src/base/pattern.js';
import { seededRandom } from '../src/base/random.js';
import type { GpuContext } from '../src/ffi/cuda/context.js';
import { DeviceMemory } from '../src/ffi/cuda/device-memory.js';
import type { PreparedLaunch } from '../src/ffi/cuda/module.js';
import { PinnedMemory } from '../src/ffi/cuda/pinned-memory.js';
import type { BlockCopy, KernelQueue } from '../src/gpu/kernel-queue.js';
import { NOT_PACKED } from '../src/gpu/scatter-entry.js';
import { checkFragments, isPackable } from '../src/gpu/scatter-list.hot.js';
import { validateScatterList } from '../src/gpu/scatter-list.js';
import { type ListShape, randomList, randomTable } from '../test/support/scatter-lists.js';

export const CHUNK_BYTES = 512 * 1024;
const PATTERN_SEED = 77;

interface ChunkSet {
  readonly bounce: DeviceMemory;
  readonly entries: PinnedMemory;
  readonly target: DeviceMemory;
  readonly counts: readonly number[];
  /** The chunks' lists: as the CPU reads them, and packed. */
  readonly lists: readonly Uint32Array[];
  readonly packed: readonly PreparedLaunch[];
  readonly bouncePerChunk: number;
  readonly entriesPerChunk: number;
  readonly longestBytes: number;
}

export interface WindowShape {
  readonly chunks: number;
  readonly fragmentBytes: number;
  readonly isAligned: boolean;
  readonly sets: number;
}

/** Chunks of 512 KiB whose fragments lie shuffled in a bounce buffer; lists in pinned memory. */
export class ChunkWindow {
  readonly bytes: number;
  private readonly sets: readonly ChunkSet[];
  private readonly queue: KernelQueue;

  constructor(context: GpuContext, queue: KernelQueue, shape: WindowShape) {
    this.queue = queue;
    this.bytes = shape.chunks * CHUNK_BYTES;
    const indexes = Array.from({ length: shape.sets }, (_, index) => index);
    this.sets = indexes.map((index) => makeSet(context, queue, shape, index));
    for (const index of indexes) this.check(index);
  }

  /** Queues one unpack of all chunks of the set. */
  launch(turn: number): number {
    const set = this.sets[turn % this.sets.length];
    if (set === undefined) throw new Error('a window has at least one set');
    for (const [chunk, count] of set.counts.entries()) {
      this.queue.unpack.add(
        set.entries.deviceAddr + chunk * set.entriesPerChunk,
        isPackable(count, set.longestBytes, CHUNK_BYTES) ? set.packed[chunk] : undefined,
        count,
        set.bounce.addr + chunk * set.bouncePerChunk,
        set.target.addr + chunk * CHUNK_BYTES,
        set.longestBytes,
      );
    }
    return this.queue.launchUnpack();
  }

  /** The check of the set's lists, as it precedes every unpack of a received chunk. */
  check(turn: number): void {
    const set = this.sets[turn % this.sets.length];
    if (set === undefined) throw new Error('a window has at least one set');
    for (const [chunk, list] of set.lists.entries()) {
      const packed = set.packed[chunk]?.parameters.parts ?? NOT_PACKED;
      const count = set.counts[chunk] ?? 0;
      const longest = checkFragments(list, count, CHUNK_BYTES, set.bouncePerChunk, packed);
      if (longest < 0) throw new Error(`a list is wrong: rule ${longest}`);
    }
  }

  /** A plain copy of as many bytes between the same buffers. */
  copy(context: GpuContext, turn: number): void {
    const set = this.sets[turn % this.sets.length];
    if (set === undefined) throw new Error('a window has at least one set');
    const { queue } = this.queue.stream;
    const result = queue.copyDeviceToDevice(set.target.addr, set.bounce.addr, this.bytes);
    context.check(result, 'cuMemcpyDtoDAsync_v2');
  }

  /** Bytes that are wrong after one unpack of every set into a cleared target. */
  mismatches(): number {
    let count = 0;
    for (const [turn, set] of this.sets.entries()) {
      set.target.clear();
      this.queue.wait(this.launch(turn));
      count += this.queue.verify(set.target, PATTERN_SEED, 0).count;
    }
    return count;
  }

  free(): void {
    for (const { bounce, entries, target } of this.sets) {
      for (const memory of [bounce, entries, target]) memory.free();
    }
  }
}

function makeSet(
  context: GpuContext,
  queue: KernelQueue,
  shape: WindowShape,
  index: number,
): ChunkSet {
  const random = seededRandom(index + 1);
  const { fragmentBytes, isAligned } = shape;
  const listShape: ListShape = {
    messageBytes: CHUNK_BYTES,
    fragmentBytesMin: fragmentBytes,
    fragmentBytesMax: fragmentBytes,
    slotBytes: 4096,
    isAligned,
  };
  const lists = Array.from({ length: shape.chunks }, () => randomList(random, listShape));
  const bouncePerChunk = lists[0]?.bounceBytes ?? 0;
  const entriesPerChunk = lists[0]?.entries.byteLength ?? 0;
  const entries = new PinnedMemory(context, shape.chunks * entriesPerChunk);
  const bounce = new DeviceMemory(context, shape.chunks * bouncePerChunk);
  const content = new Uint8Array(bounce.bytes);
  const readables: Uint32Array[] = [];
  let longestBytes = 0;
  for (const [chunk, list] of lists.entries()) {
    const limits = { count: list.fragments.length, expectedBytes: CHUNK_BYTES };
    const own = content.subarray(chunk * bouncePerChunk, (chunk + 1) * bouncePerChunk);
    longestBytes = validateScatterList(list.entries, { ...limits, bounceBytes: own.length });
    const readable = new Uint32Array(entries.buffer, chunk * entriesPerChunk);
    readable.set(list.entries);
    readables.push(readable);
    for (const { sourceOffset, bytes, targetOffset } of list.fragments) {
      const fragment = own.subarray(sourceOffset, sourceOffset + bytes);
      fillPattern(fragment, PATTERN_SEED, chunk * CHUNK_BYTES + targetOffset);
    }
  }
  bounce.write(0, content);
  const target = new DeviceMemory(context, shape.chunks * CHUNK_BYTES);
  const counts = lists.map((list) => list.fragments.length);
  return {
    bounce,
    entries,
    target,
    counts,
    lists: readables,
    packed: readables.map(() => queue.prepareList()),
    bouncePerChunk,
    entriesPerChunk,
    longestBytes,
  };
}

/** 10,000 blocks of 16 KiB of a region, and a staging buffer for all of them. */
export class BlockField {
  readonly bytes: number;
  readonly region: DeviceMemory;
  readonly staging: DeviceMemory;
  readonly copy: BlockCopy;
  private readonly table: DeviceMemory;

  constructor(context: GpuContext, count: number, blockBytes: number) {
    const made = randomTable(seededRandom(3), {
      count,
      blockBytesMin: blockBytes,
      blockBytesMax: blockBytes,
      slotBytes: blockBytes,
      isAligned: true,
    });
    this.bytes = count * blockBytes;
    this.region = new DeviceMemory(context, made.regionBytes);
    this.staging = new DeviceMemory(context, made.stagingBytes);
    this.table = new DeviceMemory(context, made.table.byteLength);
    this.table.write(0, new Uint8Array(made.table.buffer));
    this.copy = {
      tableAddr: this.table.addr,
      count,
      baseAddr: this.region.addr,
      stagingAddr: this.staging.addr,
      longestBytes: blockBytes,
    };
  }

  /** Bytes that are wrong after the region went to the staging buffer and back. */
  mismatches(queue: KernelQueue): number {
    queue.fill(this.region, PATTERN_SEED, 0);
    queue.wait(queue.gather(this.copy));
    this.region.clear();
    queue.scatter(this.copy);
    return queue.verify(this.region, PATTERN_SEED, 0).count;
  }

  free(): void {
    for (const memory of [this.region, this.staging, this.table]) memory.free();
  }
}
