// Our kernels on one stream, with the tally and the completion flag that its launches share.
// Unpack, gather, scatter and fill return at once with a sequence number; verify and checksum wait.

import { assert } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import type { Mismatch } from '../base/pattern.js';
import { DeviceMemory } from '../ffi/cuda/device-memory.js';
import { CudaResult, cudaError } from '../ffi/cuda/driver.js';
import { KernelGraph } from '../ffi/cuda/kernel-graph.js';
import type { PreparedLaunch } from '../ffi/cuda/module.js';
import { PinnedMemory } from '../ffi/cuda/pinned-memory.js';
import { GpuStream } from '../ffi/cuda/stream.js';
import { finishChecksum } from './checksum.js';
import { GpuCompletion } from './gpu-completion.hot.js';
import type { GpuKernels, KernelName } from './gpu-kernels.js';
import {
  BLOCK_THREADS,
  BlocksLayout,
  OutcomeLayout,
  SpanLayout,
  TALLY_BYTES,
  WARPS_PER_BLOCK,
} from './gpu-params.js';
import { UnpackBatch } from './gpu-unpack.hot.js';

/** What one warp copies in one go; a longer run is shared by several warps. */
export const PART_BYTES = 4096;
const UNPACK_PART_BYTES = 2048;
const PART_BYTES_MIN = 1024;
/** Items of one launch are numbered in 32 bits, with room for every warp's share. */
const ITEMS_MAX = 2 ** 31;
/** Looks at the flag between two questions to the driver whether the stream has failed. */
const SPINS_PER_QUERY = 20_000;
const WAIT_MS_MAX = 10_000;

export interface BlockCopy {
  /** Table of blocks, in memory that the device can read. */
  readonly tableAddr: number;
  readonly count: number;
  /** Added to every block offset; 0 when the table holds addresses. */
  readonly baseAddr: number;
  /** Device memory or mapped host memory. */
  readonly stagingAddr: number;
  /** As validateBlockTable found it. */
  readonly longestBytes: number;
}

export interface Span {
  readonly addr: number;
  readonly bytes: number;
}

export class KernelQueue {
  readonly stream: GpuStream;
  readonly unpack: UnpackBatch;
  readonly completion: GpuCompletion;
  private readonly kernels: GpuKernels;
  private readonly tally: DeviceMemory;
  private readonly outcome: PinnedMemory;
  private readonly prepared: Readonly<Record<KernelName, PreparedLaunch>>;
  private readonly graphs: readonly KernelGraph[];
  private readonly lists = new Set<PreparedLaunch>();
  /** Without them a launch that copies nothing serves as a mark. */
  private readonly hasStreamWrites: boolean;

  constructor(kernels: GpuKernels) {
    this.kernels = kernels;
    this.stream = new GpuStream(kernels.context);
    this.tally = new DeviceMemory(kernels.context, TALLY_BYTES);
    this.tally.clear();
    this.outcome = new PinnedMemory(kernels.context, OutcomeLayout.bytes);
    new Uint8Array(this.outcome.buffer).fill(0);
    this.completion = new GpuCompletion(new Int32Array(this.outcome.buffer, 0, 1));
    this.hasStreamWrites = canWriteWords(this.stream, this.outcome.deviceAddr);
    this.prepared = {
      unpack_few: kernels.prepare('unpack_few'),
      unpack: kernels.prepare('unpack'),
      gather: kernels.prepare('gather'),
      scatter: kernels.prepare('scatter'),
      fill: kernels.prepare('fill'),
      verify: kernels.prepare('verify'),
      checksum: kernels.prepare('checksum'),
    };
    for (const launch of Object.values(this.prepared)) this.bindCompletion(launch);
    const fewGraph = new KernelGraph(kernels.context, this.prepared.unpack_few, BLOCK_THREADS);
    const listedGraph = new KernelGraph(kernels.context, this.prepared.unpack, BLOCK_THREADS);
    this.graphs = [fewGraph, listedGraph];
    this.unpack = new UnpackBatch(
      fewGraph,
      listedGraph,
      this.stream.queue,
      this.completion,
      kernels.blocksMax,
      UNPACK_PART_BYTES,
      PART_BYTES_MIN,
    );
  }

  /** Parameters for launches that carry one packed list; they live until they are dropped. */
  prepareList(): PreparedLaunch {
    const launch = this.kernels.prepare('unpack_few');
    this.bindCompletion(launch);
    this.lists.add(launch);
    return launch;
  }

  /** Nothing that was added with these parameters waits for its launch. */
  dropList(launch: PreparedLaunch): void {
    if (this.lists.delete(launch)) launch.free();
  }

  /** Launches what was added to `unpack`; returns its sequence number. */
  launchUnpack(): number {
    this.check(this.unpack.launch(), 'unpack');
    return this.completion.lastIssued;
  }

  /** A number that is written when everything before it in the stream is done and visible. */
  mark(): number {
    if (!this.hasStreamWrites) return this.launchUnpack();
    const sequence = this.completion.take();
    const result = this.stream.queue.writeWord(this.outcome.deviceAddr, sequence);
    this.kernels.context.check(result, 'cuStreamWriteValue32_v2');
    return sequence;
  }

  gather(copy: BlockCopy, partBytes = PART_BYTES): number {
    return this.copyBlocks('gather', copy, partBytes);
  }

  scatter(copy: BlockCopy, partBytes = PART_BYTES): number {
    return this.copyBlocks('scatter', copy, partBytes);
  }

  fill(span: Span, seed: number, position: number): number {
    return this.launchSpan('fill', span, seed, position);
  }

  verify(span: Span, seed: number, position: number): Mismatch {
    this.wait(this.launchSpan('verify', span, seed, position));
    const view = new DataView(this.outcome.buffer);
    const count = Number(view.getBigUint64(OutcomeLayout.sum, true));
    const first = view.getBigUint64(OutcomeLayout.firstIndex, true);
    return { count, firstIndex: count === 0 ? undefined : Number(first) };
  }

  checksum(span: Span): bigint {
    this.wait(this.launchSpan('checksum', span, 0, 0));
    const view = new DataView(this.outcome.buffer);
    const low = view.getUint32(OutcomeLayout.sum, true);
    const high = view.getUint32(OutcomeLayout.sum + 4, true);
    return finishChecksum({ low, high }, span.bytes);
  }

  /** Spins until the launch is done; a fault of the stream or ten seconds end it with an error. */
  wait(sequence: number): void {
    const deadlineMs = performance.now() + WAIT_MS_MAX;
    while (!this.completion.spin(sequence, SPINS_PER_QUERY)) {
      const result = this.stream.queue.query();
      if (result !== CudaResult.Success && result !== CudaResult.NotReady) {
        throw cudaError(this.kernels.context.driver, result, 'cuStreamQuery', this.subject);
      }
      if (performance.now() > deadlineMs) {
        throw new TcpxError(
          'ERR_CUDA_CALL',
          `launch ${sequence} ${this.subject}: not done in 10 s`,
        );
      }
    }
  }

  destroy(): void {
    this.stream.synchronize();
    for (const graph of this.graphs) graph.destroy();
    for (const launch of [...Object.values(this.prepared), ...this.lists]) launch.free();
    this.stream.destroy();
    this.outcome.free();
    this.tally.free();
  }

  private get subject(): string {
    return this.kernels.context.subject;
  }

  // Tally and outcome are the last two fields of each structure.
  private bindCompletion(launch: PreparedLaunch): void {
    const { parameters } = launch;
    parameters.setUint64(parameters.bytes - 16, this.tally.addr);
    parameters.setUint64(parameters.bytes - 8, this.outcome.deviceAddr);
  }

  private copyBlocks(kernel: 'gather' | 'scatter', copy: BlockCopy, partBytes: number): number {
    const parts = Math.max(1, Math.ceil(copy.longestBytes / partBytes));
    assert(copy.count * parts < ITEMS_MAX, 'a launch has fewer items than 2^31');
    const launch = this.prepared[kernel];
    const { parameters } = launch;
    parameters.setUint64(BlocksLayout.entries, copy.tableAddr);
    parameters.setUint64(BlocksLayout.base, copy.baseAddr);
    parameters.setUint64(BlocksLayout.staging, copy.stagingAddr);
    parameters.setUint32(BlocksLayout.count, copy.count);
    parameters.setUint32(BlocksLayout.parts, parts);
    parameters.setUint32(BlocksLayout.partBytes, partBytes);
    parameters.setUint32(BlocksLayout.sequence, this.completion.take());
    const blocks = Math.ceil((copy.count * parts) / WARPS_PER_BLOCK);
    this.check(this.launch(launch, blocks), kernel);
    return this.completion.lastIssued;
  }

  private launchSpan(
    kernel: 'fill' | 'verify' | 'checksum',
    span: Span,
    seed: number,
    position: number,
  ): number {
    const launch = this.prepared[kernel];
    const { parameters } = launch;
    parameters.setUint64(SpanLayout.addr, span.addr);
    parameters.setUint64(SpanLayout.spanBytes, span.bytes);
    parameters.setUint64(SpanLayout.position, position);
    parameters.setUint32(SpanLayout.seed, seed);
    parameters.setUint32(SpanLayout.sequence, this.completion.take());
    const blocks = Math.ceil(span.bytes / (16 * BLOCK_THREADS));
    this.check(this.launch(launch, blocks), kernel);
    return this.completion.lastIssued;
  }

  private launch(launch: PreparedLaunch, blocks: number): number {
    const bounded = Math.min(this.kernels.blocksMax, Math.max(1, blocks));
    return this.stream.queue.launch(launch, bounded, BLOCK_THREADS);
  }

  private check(result: number, kernel: KernelName): void {
    this.kernels.context.check(result, 'cuLaunchKernel', `tcpx_${kernel}`);
  }
}

/** Tried rather than asked: an older driver lacks the call, or refuses it. */
export function canWriteWords(stream: GpuStream, addr: number): boolean {
  try {
    return stream.queue.writeWord(addr, 0) === CudaResult.Success;
  } catch {
    return false;
  }
}
