// The sending direction of a channel: chunks are sent from their registered region, or copied into
// a ring of registered buffers, at most the window's number at a time. Copies on a GPU run ahead of
// the posts; a chunk is posted when its copy is done. Only the oldest is tested.

import { assert } from '../../../base/assert.js';
import type { CommHandle, MemoryHandle } from '../../../base/quantity.js';
import { POINTER_CUDA, POINTER_HOST } from '../../../ffi/nccl-net/net-plugin.js';
import { GATHERED_BLOCKS_MAX } from '../../../flow/matched-plan.js';
import { SendWindow } from '../../../flow/sliding-window.hot.js';
import { CHUNK_PIECES, CHUNK_REGION, COUNTER_RING_CHUNKS, SEND } from '../host-layout.js';
import type { HostRegion } from '../host-region.js';
import type { ChannelId, ChannelSurroundings } from './channel-part.js';
import { DONE_AT_ONCE } from './chunk-mover.js';
import { GpuPieces } from './gpu-pieces.js';
import { PieceCopiers, type PieceRange } from './piece-copy.js';
import { CpuPieces } from './piece-mover.js';
import { RegionHandles } from './region-handles.js';
import { RequestLine } from './request-line.js';
import { hostRing, PAGE_BYTES, type RingMemory, roundToPage } from './ring-memory.js';

/** The interface takes a 32-bit length, and offsets of 31 bits. */
const REGISTERED_BYTES_MAX = 2 ** 31 - PAGE_BYTES;

interface Ring {
  readonly memory: RingMemory;
  readonly mhandle: MemoryHandle;
}

export class SendChannel {
  readonly #line: RequestLine<SendWindow>;
  readonly #surroundings: ChannelSurroundings;
  readonly #id: ChannelId;
  readonly #comm: CommHandle;
  readonly #gpuPieces: GpuPieces | undefined;
  readonly #copiers: PieceCopiers;
  readonly #slotBytes: number;
  /** Numbers of the copies into the ring, by position modulo the window. */
  readonly #copies: Float64Array;
  /** Positions below it have their copy started: posted ≤ staged ≤ pushed. */
  #staged = 0;
  /** Made for the first chunk that needs it: for host memory, for GPU memory. */
  readonly #rings = new Map<'host' | 'device', Ring>();
  /** Where chunks are sent in place. */
  readonly #regionHandles: RegionHandles;

  constructor(surroundings: ChannelSurroundings, id: ChannelId, comm: CommHandle) {
    this.#surroundings = surroundings;
    this.#id = id;
    this.#comm = comm;
    const { options, gpu } = surroundings;
    const window = new SendWindow(options.sendWindow);
    this.#line = new RequestLine(surroundings, id, SEND, comm, window);
    const limits = { window: options.sendWindow, piecesMax: GATHERED_BLOCKS_MAX };
    this.#gpuPieces = gpu && new GpuPieces(gpu.out, 'gather', limits);
    const { pieces } = this.#line.queue;
    const cpuPieces = new CpuPieces('gather');
    this.#copiers = new PieceCopiers(pieces, surroundings, cpuPieces, this.#gpuPieces);
    this.#copies = new Float64Array(options.sendWindow);
    this.#slotBytes = roundToPage(options.chunkBytes);
    const { plugin } = surroundings;
    this.#regionHandles = new RegionHandles({
      ...{ plugin, channel: id.channel, comm },
      onRefused: (reason) => surroundings.onFallback(id.channel, reason),
    });
  }

  get isIdle(): boolean {
    return this.#line.isIdle;
  }

  push(source: Float64Array, at: number): void {
    this.#line.push(source, at);
  }

  /** Posts the next chunk where the window has room and its copy is done; whether it did. */
  post(): boolean {
    const { window, queue } = this.#line;
    this.#stage();
    const position = window.posted;
    if (position === this.#staged || !this.#isCopied(position)) return false;
    const chunk = queue.load(position);
    const region = this.#surroundings.region(queue.field(position, CHUNK_REGION));
    const inPlace = this.#inPlaceHandle(region, position);
    const ring =
      inPlace === undefined ? this.#ringFor(this.#isDevice(region, position)) : undefined;
    const mhandle = inPlace ?? ring?.mhandle ?? 0;
    const addr = ring === undefined ? region.addr + chunk.offset : this.#slotAddr(ring, position);
    if (ring !== undefined) this.#line.counters.add(COUNTER_RING_CHUNKS, 1);
    const { plugin } = this.#surroundings;
    const request = plugin.isend(this.#id.channel, this.#comm, addr, mhandle, chunk);
    this.#line.onPosted('isend', chunk, request);
    return true;
  }

  /** Tests the oldest; whether it is done. */
  progress(): boolean {
    const position = this.#line.testOldest();
    if (position < 0) return false;
    this.#line.finish(position, this.#line.queue.load(position));
    return true;
  }

  /** The region is about to be unmapped; its number may come back for another. */
  forgetRegion(regionId: number): void {
    this.#regionHandles.forget(regionId);
  }

  close(): void {
    const { plugin, gpu } = this.#surroundings;
    gpu?.out.finish();
    this.#gpuPieces?.free();
    const rings = [...this.#rings.values()];
    this.#regionHandles.close();
    for (const { mhandle } of rings) plugin.deregister(this.#id.channel, this.#comm, mhandle);
    plugin.closeSend(this.#id.channel, this.#comm);
    for (const { memory } of rings) memory.free();
  }

  // The processor copies when it is a chunk's turn; a GPU gets all that the window allows.
  #stage(): void {
    const { window, queue } = this.#line;
    const { gpu } = this.#surroundings;
    let hasStarted = false;
    while (this.#staged < queue.pushed && this.#staged - window.done < window.limit) {
      const region = this.#surroundings.region(queue.field(this.#staged, CHUNK_REGION));
      if (!this.#isDevice(region, this.#staged) && this.#staged > window.posted) break;
      this.#copies[this.#staged % window.limit] = this.#copyOut(region, this.#staged);
      this.#staged++;
      hasStarted = true;
    }
    if (hasStarted) gpu?.out.flush();
  }

  #copyOut(region: HostRegion, position: number): number {
    const { offset, bytes } = this.#line.queue.load(position);
    if (bytes === 0 || this.#inPlaceHandle(region, position) !== undefined) return DONE_AT_ONCE;
    const isDevice = this.#isDevice(region, position);
    const target = this.#slotAddr(this.#ringFor(isDevice), position);
    const pieces = this.#piecesOf(position);
    if (pieces.count > 0) return this.#copiers.by(isDevice).whole(position, pieces, target);
    const { cpu, gpu } = this.#surroundings;
    if (!isDevice) return cpu.copy(target, region.addr + offset, bytes);
    assert(gpu !== undefined, 'GPU memory is mapped by hosts with a GPU');
    return gpu.out.copy(target, region.deviceAddr + offset, bytes);
  }

  #isCopied(position: number): boolean {
    const copy = this.#copies[position % this.#line.window.limit] ?? DONE_AT_ONCE;
    return copy === DONE_AT_ONCE || this.#surroundings.gpu?.out.isDone(copy) !== false;
  }

  // Where memory is the processor's, a registration only records and any offset may be sent from.
  // Undefined where the chunk goes through the ring.
  #inPlaceHandle(region: HostRegion, position: number): number | undefined {
    const { sendFrom } = this.#surroundings.options;
    const { queue } = this.#line;
    if (queue.field(position, CHUNK_PIECES) > 0) return undefined;
    if (sendFrom === 'ring' || region.bytes > REGISTERED_BYTES_MAX) return undefined;
    if (sendFrom !== 'region' && region.isDevice) return undefined;
    const regionId = queue.field(position, CHUNK_REGION);
    return this.#regionHandles.handleOf(regionId, region, this.#typeOf(region.isDevice));
  }

  /** The GPU has a part in it: it can reach all pieces of a chunk, the processor not. */
  #isDevice(region: HostRegion, position: number): boolean {
    const pieces = this.#piecesOf(position);
    return pieces.count === 0 ? region.isDevice : this.#copiers.hasDevice(pieces);
  }

  #piecesOf(position: number): PieceRange {
    const { queue } = this.#line;
    return { first: queue.firstPiece(position), count: queue.field(position, CHUNK_PIECES) };
  }

  #ringFor(isDevice: boolean): Ring {
    const kind = isDevice ? 'device' : 'host';
    const known = this.#rings.get(kind);
    if (known !== undefined) return known;
    const bytes = this.#slotBytes * this.#line.window.limit;
    const { gpu, pointerType } = this.#surroundings;
    let memory = hostRing;
    if (gpu !== undefined && isDevice) {
      memory =
        pointerType === POINTER_CUDA ? () => gpu.deviceRing(bytes) : () => gpu.pinnedRing(bytes);
    }
    const ring = memory(bytes, this.#typeOf(isDevice));
    const made = { memory: ring, mhandle: this.#register(ring.addr, ring.bytes, ring.pointerType) };
    this.#rings.set(kind, made);
    return made;
  }

  // Without a GPU the emulator takes host memory for device memory; a plugin with one does not.
  #typeOf(isDevice: boolean): number {
    const { gpu, pointerType } = this.#surroundings;
    return gpu !== undefined && !isDevice ? POINTER_HOST : pointerType;
  }

  #slotAddr(ring: Ring, position: number): number {
    return ring.memory.addr + (position % this.#line.window.limit) * this.#slotBytes;
  }

  #register(addr: number, bytes: number, type: number): number {
    const { plugin } = this.#surroundings;
    return plugin.register(this.#id.channel, this.#comm, addr, bytes, type);
  }
}
