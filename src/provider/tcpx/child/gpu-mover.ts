// Copies of chunks on the rail GPU, on a stream of its own. What is asked for between two flushes
// is one batch; its number appears in mapped host memory when all of it is done and visible, so
// that asking costs a load. Failures of the stream are looked for now and then.

import { TcpxError } from '../../../base/errors.js';
import type { Address, ByteCount } from '../../../base/quantity.js';
import { CudaResult, cudaError } from '../../../ffi/cuda/driver.js';
import type { PreparedLaunch } from '../../../ffi/cuda/module.js';
import { PinnedMemory } from '../../../ffi/cuda/pinned-memory.js';
import type { GpuKernels } from '../../../gpu/gpu-kernels.js';
import { type BlockCopy, KernelQueue } from '../../../gpu/kernel-queue.js';
import { ENTRY_PARTS, NOT_PACKED } from '../../../gpu/scatter-entry.js';
import { isPackable } from '../../../gpu/scatter-list.hot.js';
import type { HostRegion } from '../host-region.js';
import { type ChunkMover, DONE_AT_ONCE, type UnpackKind } from './chunk-mover.js';
import type { ChunkFacts } from './guarded-plugin.js';
import type { PieceDirection } from './piece-mover.js';
import type { UnpackSlot } from './unpack-queue.js';

/** Looks at the flag between two questions to the driver. */
const POLLS_PER_QUERY = 4096;
const STUCK_MS = 10_000;

export class GpuMover implements ChunkMover {
  readonly #kernels: GpuKernels;
  readonly #queue: KernelQueue;
  readonly #kind: UnpackKind;
  readonly #chunkBytes: number;
  readonly #lists = new Map<UnpackSlot, PreparedLaunch>();
  #staging: PinnedMemory | undefined;
  /** Copies in the stream that no number stands behind yet. */
  #hasCopies = false;
  #hasUnpacks = false;
  #hasForeignTarget = false;
  #polls = 0;
  #startedMs = 0;
  #error: TcpxError | undefined;

  constructor(kernels: GpuKernels, kind: UnpackKind, chunkBytes: number) {
    this.#kernels = kernels;
    this.#queue = new KernelQueue(kernels);
    this.#kind = kind;
    this.#chunkBytes = chunkBytes;
  }

  copy(targetAddr: Address, sourceAddr: Address, bytes: ByteCount): number {
    // A batch is copies or unpacks: an unpack writes the number itself.
    if (this.#hasUnpacks) this.flush();
    this.#check(this.#queue.stream.queue.copy(targetAddr, sourceAddr, bytes));
    this.#hasCopies = true;
    return this.#nextNumber;
  }

  /** Whether copies of many blocks are to be launches: not with `d2d`, `host` and `none`. */
  get hasKernels(): boolean {
    return this.#kind === 'kernel';
  }

  /** Host memory that launches of this mover read. */
  pinned(bytes: ByteCount): PinnedMemory {
    return new PinnedMemory(this.#kernels.context, bytes);
  }

  /** Launched at once, behind whatever was asked for before; its table stays until it is done. */
  moveBlocks(direction: PieceDirection, copy: BlockCopy): number {
    this.flush();
    const number = this.#nextNumber;
    if (this.#error !== undefined) return number;
    this.#polls = 0;
    this.#startedMs = performance.now();
    try {
      if (direction === 'gather') this.#queue.gather(copy);
      else this.#queue.scatter(copy);
    } catch (error) {
      this.#fail(error);
    }
    return number;
  }

  packedOf(slot: UnpackSlot): Uint32Array {
    if (this.#kind !== 'kernel') return NOT_PACKED;
    const known = this.#lists.get(slot);
    if (known !== undefined) return known.parameters.parts;
    const made = this.#queue.prepareList();
    this.#lists.set(slot, made);
    return made.parameters.parts;
  }

  /** These slots are unpacked no more, and all of it is done (finish). */
  forget(slots: readonly UnpackSlot[]): void {
    for (const slot of slots) {
      const known = this.#lists.get(slot);
      if (known === undefined) continue;
      this.#lists.delete(slot);
      this.#queue.dropList(known);
    }
  }

  unpack(
    slot: UnpackSlot,
    count: number,
    longestBytes: number,
    region: HostRegion,
    chunk: ChunkFacts,
  ): number {
    if (this.#kind === 'none') return DONE_AT_ONCE;
    const targetAddr = region.deviceAddr + chunk.offset;
    if (this.#kind !== 'kernel') return this.#copyFragments(slot, count, targetAddr, chunk.bytes);
    if (this.#hasCopies || this.#queue.unpack.isFull) this.flush();
    const { entriesAddr, bounceAddr } = slot;
    const isPacked = isPackable(count, longestBytes, chunk.bytes);
    const packed = isPacked ? this.#lists.get(slot) : undefined;
    const { unpack } = this.#queue;
    unpack.add(entriesAddr, packed, count, bounceAddr, targetAddr, longestBytes);
    this.#hasUnpacks = true;
    if (region.isRailMemory) return this.#nextNumber;
    // The kernel's own number covers its GPU; for memory beyond it the next one is written when
    // the whole kernel has ended.
    this.#hasForeignTarget = true;
    return (this.#nextNumber + 1) | 0;
  }

  flush(): void {
    if (!this.#hasCopies && !this.#hasUnpacks) return;
    this.#polls = 0;
    this.#startedMs = performance.now();
    const isMarked = this.#hasCopies || this.#hasForeignTarget;
    const isLaunched = this.#hasUnpacks;
    this.#hasCopies = false;
    this.#hasUnpacks = false;
    this.#hasForeignTarget = false;
    if (this.#error !== undefined) return;
    try {
      if (isLaunched) this.#queue.launchUnpack();
      if (isMarked) this.#queue.mark();
    } catch (error) {
      this.#fail(error);
    }
  }

  isDone(copy: number): boolean {
    if (copy === DONE_AT_ONCE || this.#queue.completion.isDone(copy)) return true;
    if (this.#error !== undefined) throw this.#error;
    this.#polls++;
    // A failure is seen at the next look.
    if (this.#polls >= POLLS_PER_QUERY) this.#askDriver();
    return false;
  }

  finish(): void {
    this.flush();
    const { completion } = this.#queue;
    while (this.#error === undefined && !completion.isDone(completion.lastIssued)) {
      if (!completion.spin(completion.lastIssued, POLLS_PER_QUERY)) this.#askDriver();
    }
    if (this.#error !== undefined) throw this.#error;
  }

  get #nextNumber(): number {
    return (this.#queue.completion.lastIssued + 1) | 0;
  }

  // Fragment by fragment through the copy engine, straight or over pinned memory; for comparison.
  // One staging chunk does: what follows in the stream waits for what was before.
  #copyFragments(slot: UnpackSlot, count: number, targetAddr: Address, bytes: ByteCount): number {
    const to = this.#kind === 'host' ? this.#stagingAddr() : targetAddr;
    const { entries, bounceAddr } = slot;
    for (let at = 0; at < count * ENTRY_PARTS; at += ENTRY_PARTS) {
      const offset = entries[at + 2] ?? 0;
      this.copy(to + offset, bounceAddr + (entries[at] ?? 0), entries[at + 1] ?? 0);
    }
    if (this.#kind !== 'host') return count === 0 ? DONE_AT_ONCE : this.#nextNumber;
    return bytes === 0 ? DONE_AT_ONCE : this.copy(targetAddr, to, bytes);
  }

  #stagingAddr(): number {
    this.#staging ??= new PinnedMemory(this.#kernels.context, this.#chunkBytes);
    return this.#staging.addr;
  }

  // A stream that has faulted never writes the number.
  #askDriver(): void {
    this.#polls = 0;
    const { context } = this.#kernels;
    const result = this.#queue.stream.queue.query();
    if (result === CudaResult.Success) return;
    if (result !== CudaResult.NotReady) {
      this.#fail(cudaError(context.driver, result, 'cuStreamQuery', context.subject));
    } else if (performance.now() - this.#startedMs > STUCK_MS) {
      const message = `copies ${context.subject}: not done in ${STUCK_MS} ms`;
      this.#fail(new TcpxError('ERR_CUDA_CALL', message));
    }
  }

  #check(result: number): void {
    if (result === CudaResult.Success) return;
    const { context } = this.#kernels;
    this.#fail(cudaError(context.driver, result, 'cuMemcpyAsync', context.subject));
  }

  // The first failure stays; whoever asks for a copy that is not done is told.
  #fail(error: unknown): void {
    this.#error ??=
      error instanceof TcpxError ? error : new TcpxError('ERR_CUDA_CALL', String(error));
  }
}
