// One unpack launch: chunks are added, then all their fragments are copied by one kernel.
// Lists are validated before they are added (scatter-list.hot.ts); no object is made per chunk.

import type { GpuQueue } from '../ffi/cuda/gpu-queue.hot.js';
import type { PreparedLaunch } from '../ffi/cuda/module.js';
import type { GpuCompletion } from './gpu-completion.hot.js';
import {
  BLOCK_THREADS,
  BLOCKS_PER_PROCESSOR,
  UnpackLayout,
  WARPS_PER_BLOCK,
} from './gpu-params.js';
import { CHUNKS_MAX } from './scatter-entry.js';

/** In `before` of unused rows: no fragment index reaches it. */
const UNREACHED = 0xffffffff;

export class UnpackBatch {
  /** What one warp copies at most; a longer fragment is shared by several warps. */
  partBytes: number;
  /** Parts shrink to this while there are fewer of them than warps that one block per SM has. */
  partBytesMin: number;
  /** Blocks of one launch at most. */
  blocksMax: number;
  private readonly prepared: PreparedLaunch;
  private readonly queue: GpuQueue;
  private readonly completion: GpuCompletion;
  private chunkCount = 0;
  private fragmentCount = 0;
  private longestBytes = 0;

  constructor(
    prepared: PreparedLaunch,
    queue: GpuQueue,
    completion: GpuCompletion,
    blocksMax: number,
    partBytes: number,
    partBytesMin: number,
  ) {
    this.prepared = prepared;
    this.queue = queue;
    this.completion = completion;
    this.blocksMax = blocksMax;
    this.partBytes = partBytes;
    this.partBytesMin = partBytesMin;
  }

  get isFull(): boolean {
    return this.chunkCount === CHUNKS_MAX;
  }

  /** Addresses as the device sees them. False when the batch is full; nothing is added then. */
  add(
    entriesAddr: number,
    count: number,
    sourceAddr: number,
    targetAddr: number,
    longestBytes: number,
  ): boolean {
    if (this.chunkCount === CHUNKS_MAX) return false;
    const parameters = this.prepared.parameters;
    const row = this.chunkCount * UnpackLayout.chunkBytes;
    parameters.setUint64(row + UnpackLayout.chunkEntries, entriesAddr);
    parameters.setUint64(row + UnpackLayout.chunkSource, sourceAddr);
    parameters.setUint64(row + UnpackLayout.chunkTarget, targetAddr);
    parameters.setUint32(row + UnpackLayout.chunkBefore, this.fragmentCount);
    this.chunkCount++;
    this.fragmentCount += count;
    if (longestBytes > this.longestBytes) this.longestBytes = longestBytes;
    return true;
  }

  /** CUDA's result; on 0 the launch has the number `completion.lastIssued`. Empties the batch. */
  launch(): number {
    const parameters = this.prepared.parameters;
    for (let chunk = this.chunkCount; chunk < CHUNKS_MAX; chunk++) {
      parameters.setUint32(chunk * UnpackLayout.chunkBytes + UnpackLayout.chunkBefore, UNREACHED);
    }
    const partBytes = this.choosePartBytes();
    const parts = Math.max(1, Math.ceil(this.longestBytes / partBytes));
    const warps = this.fragmentCount * parts;
    parameters.setUint32(UnpackLayout.total, this.fragmentCount);
    parameters.setUint32(UnpackLayout.parts, parts);
    parameters.setUint32(UnpackLayout.partBytes, partBytes);
    parameters.setUint32(UnpackLayout.sequence, this.completion.take());
    this.chunkCount = 0;
    this.fragmentCount = 0;
    this.longestBytes = 0;
    const blocks = Math.min(this.blocksMax, Math.max(1, Math.ceil(warps / WARPS_PER_BLOCK)));
    return this.queue.launch(this.prepared, blocks, BLOCK_THREADS);
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
}
