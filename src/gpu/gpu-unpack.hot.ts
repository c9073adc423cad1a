// One unpack launch: chunks are added, then all their fragments are copied by one kernel.
// Lists are validated before they are added (scatter-list.hot.ts); no object is made per chunk.

import type { GpuQueue } from '../ffi/cuda/gpu-queue.hot.js';
import type { KernelGraph } from '../ffi/cuda/kernel-graph.js';
import type { PreparedLaunch } from '../ffi/cuda/module.js';
import type { GpuCompletion } from './gpu-completion.hot.js';
import {
  BLOCK_THREADS,
  BLOCKS_PER_PROCESSOR,
  FewLayout,
  UnpackLayout,
  WARPS_PER_BLOCK,
} from './gpu-params.js';
import { CHUNKS_MAX } from './scatter-entry.js';

/** In `before` of unused rows: no fragment index reaches it. */
const UNREACHED = 0xffffffff;
/** After `total`, alike in both layouts. */
const PER_BLOCK = UnpackLayout.perBlock - UnpackLayout.total;
const PARTS = UnpackLayout.parts - UnpackLayout.total;
const PART_BYTES = UnpackLayout.partBytes - UnpackLayout.total;
const SEQUENCE = UnpackLayout.sequence - UnpackLayout.total;

export class UnpackBatch {
  /** What one warp copies at most; a longer fragment is shared by several warps. */
  partBytes: number;
  /** Parts shrink to this while there are fewer of them than warps that one block per SM has. */
  partBytesMin: number;
  /** Blocks of one launch at most. */
  blocksMax: number;
  private readonly few: KernelGraph;
  private readonly listed: KernelGraph;
  private readonly queue: GpuQueue;
  private readonly completion: GpuCompletion;
  private chunkCount = 0;
  private fragmentCount = 0;
  private longestBytes = 0;
  /** The batch is one chunk so far, whose list is in these parameters. */
  private packed: PreparedLaunch | undefined = undefined;

  /** `few` takes one chunk whose list is in the parameters, `listed` takes all others. */
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
   * Addresses as the device sees them. The list is in place now and stays until the launch is done;
   * `packed` has it in its parameters too (checkFragments), and belongs to this batch until it is
   * launched. False when the batch is full; nothing is added then.
   */
  add(
    entriesAddr: number,
    packed: PreparedLaunch | undefined,
    count: number,
    sourceAddr: number,
    targetAddr: number,
    longestBytes: number,
  ): boolean {
    if (this.chunkCount === CHUNKS_MAX) return false;
    const { parameters } = this.listed.prepared;
    const row = this.chunkCount * UnpackLayout.chunkBytes;
    parameters.setUint64(row + UnpackLayout.chunkEntries, entriesAddr);
    parameters.setUint64(row + UnpackLayout.chunkSource, sourceAddr);
    parameters.setUint64(row + UnpackLayout.chunkTarget, targetAddr);
    parameters.setUint32(row + UnpackLayout.chunkBefore, this.fragmentCount);
    this.packed = this.chunkCount === 0 ? packed : undefined;
    if (this.packed !== undefined) {
      const own = this.packed.parameters;
      own.setUint64(FewLayout.source, sourceAddr);
      own.setUint64(FewLayout.target, targetAddr);
    }
    this.chunkCount++;
    this.fragmentCount += count;
    if (longestBytes > this.longestBytes) this.longestBytes = longestBytes;
    return true;
  }

  /** CUDA's result; on 0 the launch has the number `completion.lastIssued`. Empties the batch. */
  launch(): number {
    // Nothing of this queue to overlap with: the launch that costs the CPU less.
    const isIdle = this.completion.isDone(this.completion.lastIssued);
    const partBytes = this.choosePartBytes();
    const parts = Math.max(1, Math.ceil(this.longestBytes / partBytes));
    const perBlock = this.choosePerBlock(parts);
    const packed = this.packed;
    const graph = packed !== undefined ? this.few : this.listed;
    const prepared = packed ?? this.listed.prepared;
    const { parameters } = prepared;
    const at = packed !== undefined ? FewLayout.total : UnpackLayout.total;
    parameters.setUint32(at, this.fragmentCount);
    parameters.setUint32(at + PER_BLOCK, perBlock);
    parameters.setUint32(at + PARTS, parts);
    parameters.setUint32(at + PART_BYTES, partBytes);
    parameters.setUint32(at + SEQUENCE, this.completion.take());
    if (packed === undefined) this.closeRows();
    const blocks = Math.max(1, Math.ceil(this.fragmentCount / perBlock));
    this.chunkCount = 0;
    this.fragmentCount = 0;
    this.longestBytes = 0;
    this.packed = undefined;
    if (isIdle) return this.queue.launchGraph(graph, prepared, blocks);
    return this.queue.launch(prepared, blocks, BLOCK_THREADS);
  }

  private closeRows(): void {
    const { parameters } = this.listed.prepared;
    for (let chunk = this.chunkCount; chunk < CHUNKS_MAX; chunk++) {
      const row = chunk * UnpackLayout.chunkBytes;
      parameters.setUint32(row + UnpackLayout.chunkBefore, UNREACHED);
    }
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
