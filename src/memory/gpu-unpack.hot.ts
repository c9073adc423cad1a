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
  FEW_FRAGMENTS_MAX,
  FEW_LENGTH_BITS,
  FewLayout,
  UnpackLayout,
  WARPS_PER_BLOCK,
} from './gpu-params.js';
import { CHUNKS_MAX, ENTRY_BYTES } from './scatter-entry.js';

/** In `before` of unused rows: no fragment index reaches it. */
const UNREACHED = 0xffffffff;
/** After `total`, alike in both layouts. */
const PER_BLOCK = UnpackLayout.perBlock - UnpackLayout.total;
const PARTS = UnpackLayout.parts - UnpackLayout.total;
const PART_BYTES = UnpackLayout.partBytes - UnpackLayout.total;
const SEQUENCE = UnpackLayout.sequence - UnpackLayout.total;
const PACKED_LENGTH_MAX = 2 ** FEW_LENGTH_BITS - 1;
const PACKED_TARGET_MAX = 2 ** (32 - FEW_LENGTH_BITS) - 1;

export class UnpackBatch {
  /** What one warp copies at most; a longer fragment is shared by several warps. */
  partBytes: number;
  /** Parts shrink to this while there are fewer of them than warps that one block per SM has. */
  partBytesMin: number;
  /** Blocks of one launch at most. */
  blocksMax: number;
  private readonly few: KernelGraph;
  private readonly listed: KernelGraph;
  /** Room for a copy of a short list, to be packed from. */
  private readonly list: FixedMemory;
  private readonly queue: GpuQueue;
  private readonly completion: GpuCompletion;
  private chunkCount = 0;
  private fragmentCount = 0;
  private longestBytes = 0;
  /** Of the first chunk: where the CPU reads its list, 0 if it cannot; its source and target. */
  private firstListAddr = 0;
  private firstSource = 0;
  private firstTarget = 0;

  /** `few` takes one chunk whose list goes into the parameters, `listed` takes all others. */
  constructor(
    few: KernelGraph,
    listed: KernelGraph,
    list: FixedMemory,
    queue: GpuQueue,
    completion: GpuCompletion,
    blocksMax: number,
    partBytes: number,
    partBytesMin: number,
  ) {
    this.few = few;
    this.listed = listed;
    this.list = list;
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
    const { parameters } = this.listed.prepared;
    const row = this.chunkCount * UnpackLayout.chunkBytes;
    parameters.setUint64(row + UnpackLayout.chunkEntries, entriesAddr);
    parameters.setUint64(row + UnpackLayout.chunkSource, sourceAddr);
    parameters.setUint64(row + UnpackLayout.chunkTarget, targetAddr);
    parameters.setUint32(row + UnpackLayout.chunkBefore, this.fragmentCount);
    if (this.chunkCount === 0) {
      this.firstListAddr = entriesHostAddr;
      this.firstSource = sourceAddr;
      this.firstTarget = targetAddr;
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
    const isFew = this.packFew();
    const graph = isFew ? this.few : this.listed;
    const { parameters } = graph.prepared;
    const at = isFew ? FewLayout.total : UnpackLayout.total;
    parameters.setUint32(at, this.fragmentCount);
    parameters.setUint32(at + PER_BLOCK, perBlock);
    parameters.setUint32(at + PARTS, parts);
    parameters.setUint32(at + PART_BYTES, partBytes);
    parameters.setUint32(at + SEQUENCE, this.completion.take());
    if (!isFew) this.closeRows();
    const blocks = Math.max(1, Math.ceil(this.fragmentCount / perBlock));
    this.chunkCount = 0;
    this.fragmentCount = 0;
    this.longestBytes = 0;
    if (isIdle) return this.queue.launchGraph(graph, blocks);
    return this.queue.launch(graph.prepared, blocks, BLOCK_THREADS);
  }

  private closeRows(): void {
    const { parameters } = this.listed.prepared;
    for (let chunk = this.chunkCount; chunk < CHUNKS_MAX; chunk++) {
      const row = chunk * UnpackLayout.chunkBytes;
      parameters.setUint32(row + UnpackLayout.chunkBefore, UNREACHED);
    }
  }

  // The list of a lone chunk into the parameters; false when it does not fit there.
  private packFew(): boolean {
    const count = this.fragmentCount;
    if (this.chunkCount !== 1 || count > FEW_FRAGMENTS_MAX || this.firstListAddr === 0) {
      return false;
    }
    const { list } = this;
    const { parameters } = this.few.prepared;
    copyMemory(list.addr, this.firstListAddr, count * ENTRY_BYTES);
    for (let index = 0; index < count; index++) {
      const entry = index * ENTRY_BYTES;
      const length = list.uint32(entry + 4);
      const target = list.uint32(entry + 8);
      if (length > PACKED_LENGTH_MAX || target > PACKED_TARGET_MAX) return false;
      if (list.uint32(entry + 12) !== 0) return false;
      const packed = index * FewLayout.entryBytes;
      parameters.setUint32(packed, list.uint32(entry));
      parameters.setUint32(packed + 4, (target << FEW_LENGTH_BITS) | length);
    }
    parameters.setUint64(FewLayout.source, this.firstSource);
    parameters.setUint64(FewLayout.target, this.firstTarget);
    return true;
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
