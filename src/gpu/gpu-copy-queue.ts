// One direction of staging on a GPU: the gather or the scatter kernel between device memory and
// mapped pinned memory, on a stream of its own. A batch is one launch, whatever the number of
// chunks and blocks in it; its last block writes the batch's number into mapped host memory.
// No object is made per batch.
//
//   table, pinned:  │ … done │ launched: batch n │ open: batch n + 1 → │ free … │
//   An open batch that would not fit before the end is launched, and the next one starts at 0.

import { assert, wordAt } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import { DeviceMemory } from '../ffi/cuda/device-memory.js';
import { CudaResult, cudaError } from '../ffi/cuda/driver.js';
import type { PreparedLaunch } from '../ffi/cuda/module.js';
import { PinnedMemory } from '../ffi/cuda/pinned-memory.js';
import { openStagingMemory, StagingMemory } from '../ffi/cuda/staging-memory.js';
import { GpuStream } from '../ffi/cuda/stream.js';
import { BLOCK_ENTRY_BYTES, BLOCK_ENTRY_PARTS } from './block-table.js';
import { GpuCompletion } from './gpu-completion.hot.js';
import type { GpuKernels } from './gpu-kernels.js';
import {
  BLOCK_THREADS,
  BlocksLayout,
  OutcomeLayout,
  TALLY_BYTES,
  WARPS_PER_BLOCK,
} from './gpu-params.js';
import { canWriteWords, PART_BYTES } from './kernel-queue.js';
import type { StagingShape } from './staging-device.js';
import { COPY_DONE, COPY_FAILED, COPY_PENDING, type CopyQueue } from './staging-device.js';

/** Enough warps to fill PCIe; the rest of the GPU stays with whoever computes there. */
const GRID_BLOCKS_MAX = 64;
/** A batch of so few blocks goes to the copy engine, if they are short, or long on average. */
const COPIES_MAX = 16;
const SHORT_BYTES_MAX = 64 * 1024;
const LONG_BYTES_MIN = 128 * 1024;
/**
 * A batch that has as much is launched before another chunk joins it: its chunks are sent, or
 * acknowledged, when all of it is copied, and sixteen of them would keep the socket waiting. The
 * copy engine gains nothing from more than a chunk in a batch.
 */
const BATCH_BYTES = 2 * 1024 * 1024;
const LONG_BATCH_BYTES = 512 * 1024;
/** Looks at the flag between two questions to the driver whether the stream has failed. */
const POLLS_PER_QUERY = 4096;
const STUCK_MS = 10_000;
const TWO_32 = 2 ** 32;

export class GpuCopyQueue implements CopyQueue {
  readonly stagingAddr: number;
  readonly isRenewable: boolean;
  readonly isPrompt = false;
  readonly lastUs = 0;
  readonly refusal: TcpxError | undefined;
  isFailed = false;
  /** Why, once it has failed. */
  error: TcpxError | undefined;
  private readonly kernels: GpuKernels;
  private readonly direction: 'gather' | 'scatter';
  private readonly stream: GpuStream;
  private readonly staging: StagingMemory | PinnedMemory;
  private readonly table: PinnedMemory;
  private readonly words: Uint32Array;
  private readonly entriesMax: number;
  private readonly tally: DeviceMemory;
  private readonly outcome: PinnedMemory;
  private readonly completion: GpuCompletion;
  private readonly launch: PreparedLaunch;
  /** Whether the driver can write the flag behind copies. */
  private readonly hasCopyEngine: boolean;
  /** The open batch: its entries in the table, their bytes, and the longest of them. */
  private first = 0;
  private count = 0;
  private bytes = 0;
  private longestBytes = 0;
  private polls = 0;
  private startedMs = 0;

  constructor(kernels: GpuKernels, direction: 'gather' | 'scatter', shape: StagingShape) {
    const { context } = kernels;
    this.kernels = kernels;
    this.direction = direction;
    this.stream = new GpuStream(context);
    const { slotBytes, slotCount } = shape;
    const opened =
      direction === 'gather' ? openStagingMemory(context, slotBytes, slotCount) : undefined;
    this.staging = opened?.memory ?? new PinnedMemory(context, slotBytes * slotCount);
    this.refusal = opened?.refusal;
    this.stagingAddr = this.staging.addr;
    this.isRenewable = this.staging instanceof StagingMemory;
    assert(this.staging.bytes < TWO_32, 'staging offsets have 32 bits');
    // At most slotCount chunks are under way, so an entry is done long before it is written anew.
    this.entriesMax = (2 * slotCount + 1) * shape.blocksMax;
    this.table = new PinnedMemory(context, this.entriesMax * BLOCK_ENTRY_BYTES);
    this.words = new Uint32Array(this.table.buffer);
    this.tally = new DeviceMemory(context, TALLY_BYTES);
    this.tally.clear();
    this.outcome = new PinnedMemory(context, OutcomeLayout.bytes);
    new Uint8Array(this.outcome.buffer).fill(0);
    this.completion = new GpuCompletion(new Int32Array(this.outcome.buffer, 0, 1));
    this.hasCopyEngine = canWriteWords(this.stream, this.outcome.deviceAddr);
    this.launch = kernels.prepare(direction);
    const { parameters } = this.launch;
    parameters.setUint64(BlocksLayout.base, 0);
    parameters.setUint64(BlocksLayout.staging, this.staging.deviceAddr);
    parameters.setUint32(BlocksLayout.partBytes, PART_BYTES);
    parameters.setUint64(BlocksLayout.tally, this.tally.addr);
    parameters.setUint64(BlocksLayout.outcome, this.outcome.deviceAddr);
  }

  begin(blockCount: number): number {
    if (this.bytes >= (this.isOfLongBlocks() ? LONG_BATCH_BYTES : BATCH_BYTES)) this.start();
    if (this.first + this.count + blockCount > this.entriesMax) {
      this.start();
      this.first = 0;
    }
    return (this.completion.lastIssued + 1) | 0;
  }

  add(deviceAddr: number, stagingOffset: number, bytes: number): void {
    const at = (this.first + this.count) * BLOCK_ENTRY_PARTS;
    this.words[at] = deviceAddr;
    this.words[at + 1] = deviceAddr / TWO_32;
    this.words[at + 2] = stagingOffset;
    this.words[at + 3] = bytes;
    this.count++;
    this.bytes += bytes;
    if (bytes > this.longestBytes) this.longestBytes = bytes;
  }

  start(): boolean {
    if (this.count === 0) return false;
    const sequence = this.completion.take();
    if (!this.isFailed) this.launchBatch(sequence);
    this.first += this.count;
    this.count = 0;
    this.bytes = 0;
    this.longestBytes = 0;
    return true;
  }

  poll(batch: number): number {
    if (this.completion.isDone(batch)) return COPY_DONE;
    if (this.isFailed) return COPY_FAILED;
    this.polls++;
    // A failure is seen at the next look.
    if (this.polls >= POLLS_PER_QUERY) this.askDriver();
    return COPY_PENDING;
  }

  isIdle(): boolean {
    return this.poll(this.completion.lastIssued) !== COPY_PENDING;
  }

  finish(): void {
    while (!this.isIdle());
  }

  renew(stagingOffset: number): boolean {
    if (this.isFailed || !(this.staging instanceof StagingMemory)) return false;
    try {
      this.kernels.context.makeCurrent();
      this.staging.renew(stagingOffset);
      return true;
    } catch (error) {
      // What is under way is waited for: a failed queue counts as idle.
      this.finish();
      this.fail(error);
      return false;
    }
  }

  /** The first failure stays; a faulted context fails every call, so what is left is not freed. */
  close(): void {
    if (this.isFailed) return;
    this.stream.synchronize();
    this.launch.free();
    this.stream.destroy();
    this.outcome.free();
    this.tally.free();
    this.table.free();
    this.staging.free();
  }

  private launchBatch(sequence: number): void {
    const parts = Math.max(1, Math.ceil(this.longestBytes / PART_BYTES));
    const { parameters } = this.launch;
    parameters.setUint64(
      BlocksLayout.entries,
      this.table.deviceAddr + this.first * BLOCK_ENTRY_BYTES,
    );
    parameters.setUint32(BlocksLayout.count, this.count);
    parameters.setUint32(BlocksLayout.parts, parts);
    parameters.setUint32(BlocksLayout.sequence, sequence);
    const blocks = Math.ceil((this.count * parts) / WARPS_PER_BLOCK);
    const { context } = this.kernels;
    const grid = Math.min(GRID_BLOCKS_MAX, this.kernels.blocksMax, blocks);
    this.polls = 0;
    this.startedMs = performance.now();
    try {
      context.makeCurrent();
    } catch (error) {
      this.fail(error);
      return;
    }
    if (this.isForCopyEngine()) {
      this.copyBatch(sequence);
      return;
    }
    const result = this.stream.queue.launch(this.launch, grid, BLOCK_THREADS);
    if (result === CudaResult.Success) return;
    this.fail(cudaError(context.driver, result, 'cuLaunchKernel', this.subject));
  }

  // The copy engine needs no turn among the kernels of others, in this process or another one.
  // A call for each of many blocks would cost the lane more time than one launch for all.
  private isForCopyEngine(): boolean {
    if (!this.hasCopyEngine || this.count > COPIES_MAX) return false;
    if (this.count === 1 && this.direction === 'scatter') return true;
    return this.longestBytes <= SHORT_BYTES_MAX || this.isOfLongBlocks();
  }

  private isOfLongBlocks(): boolean {
    return this.hasCopyEngine && this.bytes >= this.count * LONG_BYTES_MIN && this.count > 0;
  }

  private copyBatch(sequence: number): void {
    const { queue } = this.stream;
    let result: number = CudaResult.Success;
    for (let index = this.first; index < this.first + this.count; index++) {
      const at = index * BLOCK_ENTRY_PARTS;
      const deviceAddr = wordAt(this.words, at) + wordAt(this.words, at + 1) * TWO_32;
      const hostAddr = this.staging.addr + wordAt(this.words, at + 2);
      const bytes = wordAt(this.words, at + 3);
      result ||=
        this.direction === 'gather'
          ? queue.copyDeviceToHost(hostAddr, deviceAddr, bytes)
          : queue.copyHostToDevice(deviceAddr, hostAddr, bytes);
    }
    result ||= queue.writeWord(this.outcome.deviceAddr, sequence);
    if (result === CudaResult.Success) return;
    this.fail(cudaError(this.kernels.context.driver, result, this.copyCall, this.subject));
  }

  // A stream that has faulted never writes the flag.
  private askDriver(): void {
    this.polls = 0;
    const { context } = this.kernels;
    context.makeCurrent();
    const result = this.stream.queue.query();
    if (result === CudaResult.Success) return;
    if (result !== CudaResult.NotReady) {
      this.fail(cudaError(context.driver, result, 'cuStreamQuery', this.subject));
    } else if (performance.now() - this.startedMs > STUCK_MS) {
      this.fail(new TcpxError('ERR_CUDA_CALL', `${this.subject}: not done in ${STUCK_MS} ms`));
    }
  }

  private fail(error: unknown): void {
    this.isFailed = true;
    this.error ??=
      error instanceof TcpxError ? error : new TcpxError('ERR_CUDA_CALL', String(error));
  }

  private get copyCall(): 'cuMemcpyDtoHAsync_v2' | 'cuMemcpyHtoDAsync_v2' {
    return this.direction === 'gather' ? 'cuMemcpyDtoHAsync_v2' : 'cuMemcpyHtoDAsync_v2';
  }

  private get subject(): string {
    return `tcpx_${this.direction} ${this.kernels.context.subject}`;
  }
}
