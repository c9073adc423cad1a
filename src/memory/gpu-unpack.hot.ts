// One unpack launch: chunks are added, then all their fragments are copied by one kernel.
// Lists are validated before they are added (scatter-list.hot.ts); no object is made per chunk.

import type { FixedMemory } from '../ffi/cuda/fixed-memory.js';
import type { GpuQueue } from '../ffi/cuda/gpu-queue.hot.js';
import type { KernelGraph } from '../ffi/cuda/kernel-graph.js';
import { copyMemory } from '../ffi/libc/mapping.js';
import type { GpuCompletion } from './gpu-completion.hot.js';
import {
  BLOCK_THREADS,
  BLOCKS_PER_PROCESSOR,
  FEW_ENTRIES_BYTES,
  FEW_FRAGMENTS_MAX,
  UnpackLayout,
  WARPS_PER_BLOCK,
} from './gpu-params.js';
import { CHUNKS_MAX, ENTRY_BYTES } from './scatter-entry.js';

/** In `before` of unused rows: no fragment index reaches it. */
const UNREACHED = 0xffffffff;
/** The parameter block holds the entries of a small launch, then what both kernels take. */
const ROWS = FEW_ENTRIES_BYTES;

export class UnpackBatch {
  /** What one warp copies at most; a longer fragment is shared by several warps. */
  partBytes: number;
  /** Parts shrink to this while there are fewer of them than warps that one block per SM has. */
  partBytesMin: number;
  /** Blocks of one launch at most. */
  blocksMax: number;
  private readonly few: KernelGraph;
  private readonly listed: KernelGraph;
  private readonly parameters: FixedMemory;
  private readonly queue: GpuQueue;
  private readonly completion: GpuCompletion;
  private chunkCount = 0;
  private fragmentCount = 0;
  private longestBytes = 0;
  /** All entries so far are in the parameter block. */
  private isInline = true;

  /** `listed` shares the end of the parameter block of `few`. */
  constructor(
    few: KernelGraph,
    listed: KernelGraph,
    queue: GpuQueue,
    completion: GpuCompletion,
    blocksMax: number,
    partBytes: number,
    partBytesMin: number,
  ) {
    this.few = few;
    this.listed = listed;
    this.parameters = few.prepared.parameters;
    this.queue = queue;
    this.completion = completion;
    this.blocksMax = blocksMax;
    this.partBytes = partBytes;
    this.partBytesMin = partBytesMin;
  }

  get isFull(): boolean {
    return this.chunkCount === CHUNKS_MAX;
  }

  /**
   * Addresses as the device sees them, but `entriesHostAddr`: where the CPU reads the same list, 0
   * if it cannot. The list is in place now and stays until the launch is done.
   * False when the batch is full; nothing is added then.
   */
  add(
    entriesAddr: number,
    entriesHostAddr: number,
    count: number,
    sourceAddr: number,
    targetAddr: number,
    longestBytes: number,
  ): boolean {
    if (this.chunkCount === CHUNKS_MAX) return false;
    const { parameters } = this;
    const row = ROWS + this.chunkCount * UnpackLayout.chunkBytes;
    parameters.setUint64(row + UnpackLayout.chunkEntries, entriesAddr);
    parameters.setUint64(row + UnpackLayout.chunkSource, sourceAddr);
    parameters.setUint64(row + UnpackLayout.chunkTarget, targetAddr);
    parameters.setUint32(row + UnpackLayout.chunkBefore, this.fragmentCount);
    if (entriesHostAddr === 0 || this.fragmentCount + count > FEW_FRAGMENTS_MAX) {
      this.isInline = false;
    } else if (this.isInline) {
      const at = parameters.addr + this.fragmentCount * ENTRY_BYTES;
      copyMemory(at, entriesHostAddr, count * ENTRY_BYTES);
    }
    this.chunkCount++;
    this.fragmentCount += count;
    if (longestBytes > this.longestBytes) this.longestBytes = longestBytes;
    return true;
  }

  /** CUDA's result; on 0 the launch has the number `completion.lastIssued`. Empties the batch. */
  launch(): number {
    const { parameters } = this;
    // Nothing of this queue to overlap with: the launch that costs the CPU less.
    const isIdle = this.completion.isDone(this.completion.lastIssued);
    for (let chunk = this.chunkCount; chunk < CHUNKS_MAX; chunk++) {
      const row = ROWS + chunk * UnpackLayout.chunkBytes;
      parameters.setUint32(row + UnpackLayout.chunkBefore, UNREACHED);
    }
    const partBytes = this.choosePartBytes();
    const parts = Math.max(1, Math.ceil(this.longestBytes / partBytes));
    const perBlock = this.choosePerBlock(parts);
    parameters.setUint32(ROWS + UnpackLayout.total, this.fragmentCount);
    parameters.setUint32(ROWS + UnpackLayout.perBlock, perBlock);
    parameters.setUint32(ROWS + UnpackLayout.parts, parts);
    parameters.setUint32(ROWS + UnpackLayout.partBytes, partBytes);
    parameters.setUint32(ROWS + UnpackLayout.sequence, this.completion.take());
    const blocks = Math.max(1, Math.ceil(this.fragmentCount / perBlock));
    const graph = this.isInline ? this.few : this.listed;
    this.chunkCount = 0;
    this.fragmentCount = 0;
    this.longestBytes = 0;
    this.isInline = true;
    if (isIdle) return this.queue.launchGraph(graph, blocks);
    return this.queue.launch(graph.prepared, blocks, BLOCK_THREADS);
  }

  // A small launch is a matter of latency: spread it over the whole GPU in short parts.
  private choosePartBytes(): number {
    const warpsWanted = (this.blocksMax / BLOCKS_PER_PROCESSOR) * WARPS_PER_BLOCK;
    let partBytes = this.partBytes;
    while (partBytes >= 2 * this.partBytesMin) {
      const half = partBytes / 2;
      if (this.fragmentCount * Math.ceil(this.longestBytes / half) > warpsWanted) break;
      partBytes = half;
    }
    return partBytes;
  }

  // As many parts per block as fill whole rounds of its warps, in no more blocks than fit.
  private choosePerBlock(parts: number): number {
    const rounds = Math.ceil((this.fragmentCount * parts) / (this.blocksMax * WARPS_PER_BLOCK));
    return Math.max(1, Math.ceil((rounds * WARPS_PER_BLOCK) / parts));
  }
}
