// The sending direction of a channel: chunks are sent from their registered region, or copied into
// a ring of registered buffers, at most the window's number at a time. Copies on a GPU run ahead of
// the posts; a chunk is posted when its copy is done. Only the oldest is tested.

import { assert } from '../../../base/assert.js';
import { POINTER_CUDA, POINTER_HOST } from '../../../ffi/nccl-net/net-plugin.js';
import { SendWindow } from '../../../flow/sliding-window.hot.js';
import type { ChannelId, ChannelSurroundings } from './channel-part.js';
import { DONE_AT_ONCE } from './chunk-mover.js';
import { CHUNK_PIECES, CHUNK_REGION, SEND } from '../host-layout.js';
import type { HostRegion } from '../host-region.js';
import { PieceCopiers } from './piece-copy.js';
import { RequestLine } from './request-line.js';
import { hostRing, type RingMemory, roundToPage } from './ring-memory.js';

const PAGE_BYTES = 4096;
/** The interface takes a 32-bit length, and offsets of 31 bits. */
const REGISTERED_BYTES_MAX = 2 ** 31 - PAGE_BYTES;

interface Ring {
  readonly memory: RingMemory;
  readonly mhandle: number;
}

export class SendChannel {
  readonly #line: RequestLine<SendWindow>;
  readonly #surroundings: ChannelSurroundings;
  readonly #id: ChannelId;
  readonly #comm: number;
  readonly #copiers: PieceCopiers;
  readonly #slotBytes: number;
  /** Numbers of the copies into the ring, by position modulo the window. */
  readonly #copies: Float64Array;
  /** Positions below it have their copy started: posted ≤ staged ≤ pushed. */
  #staged = 0;
  /** Made for the first chunk that needs it: for host memory, for GPU memory. */
  readonly #rings = new Map<'host' | 'device', Ring>();
  /** Registrations of regions with this comm, where chunks are sent in place. */
  readonly #regionHandles = new Map<number, number>();

  constructor(surroundings: ChannelSurroundings, id: ChannelId, comm: number) {
    this.#surroundings = surroundings;
    this.#id = id;
    this.#comm = comm;
    const { options, cpu, gpu } = surroundings;
    const window = new SendWindow(options.sendWindow);
    this.#line = new RequestLine(surroundings, id, SEND, comm, window);
    this.#copiers = new PieceCopiers(this.#line.queue.pieces, surroundings, cpu, gpu?.out);
    this.#copies = new Float64Array(options.sendWindow);
    this.#slotBytes = roundToPage(options.chunkBytes);
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
    const regionId = queue.field(position, CHUNK_REGION);
    const region = this.#surroundings.region(regionId);
    const isInPlace = this.#isInPlace(region, position);
    const ring = isInPlace ? undefined : this.#ringFor(this.#isDevice(region, position));
    const mhandle = ring?.mhandle ?? this.#regionHandle(regionId);
    const addr = ring === undefined ? region.addr + chunk.offset : this.#slotAddr(ring, position);
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
    const mhandle = this.#regionHandles.get(regionId);
    if (mhandle === undefined) return;
    this.#regionHandles.delete(regionId);
    this.#surroundings.plugin.deregister(this.#id.channel, this.#comm, mhandle);
  }

  close(): void {
    const { plugin, gpu } = this.#surroundings;
    gpu?.out.finish();
    const rings = [...this.#rings.values()];
    for (const mhandle of [...this.#regionHandles.values(), ...rings.map((r) => r.mhandle)]) {
      plugin.deregister(this.#id.channel, this.#comm, mhandle);
    }
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
    if (bytes === 0 || this.#isInPlace(region, position)) return DONE_AT_ONCE;
    const isDevice = this.#isDevice(region, position);
    const target = this.#slotAddr(this.#ringFor(isDevice), position);
    const pieceCount = this.#line.queue.field(position, CHUNK_PIECES);
    if (pieceCount > 0) {
      return this.#copiers
        .by(isDevice)
        .gather(this.#line.queue.firstPiece(position), pieceCount, target);
    }
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
  #isInPlace(region: HostRegion, position: number): boolean {
    const { sendFrom } = this.#surroundings.options;
    if (this.#line.queue.field(position, CHUNK_PIECES) > 0) return false;
    if (sendFrom === 'ring' || region.bytes > REGISTERED_BYTES_MAX) return false;
    return sendFrom === 'region' || !region.isDevice;
  }

  /** The GPU has a part in it: it can reach all pieces of a chunk, the processor not. */
  #isDevice(region: HostRegion, position: number): boolean {
    const pieceCount = this.#line.queue.field(position, CHUNK_PIECES);
    if (pieceCount === 0) return region.isDevice;
    return this.#copiers.hasDevice(this.#line.queue.firstPiece(position), pieceCount);
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

  #regionHandle(regionId: number): number {
    const known = this.#regionHandles.get(regionId);
    if (known !== undefined) return known;
    const region = this.#surroundings.region(regionId);
    // Device memory is registered from a page border on.
    const before = region.isDevice ? region.addr % PAGE_BYTES : 0;
    const type = this.#typeOf(region.isDevice);
    const mhandle = this.#register(region.addr - before, region.bytes + before, type);
    this.#regionHandles.set(regionId, mhandle);
    return mhandle;
  }

  #register(addr: number, bytes: number, type: number): number {
    const { plugin } = this.#surroundings;
    return plugin.register(this.#id.channel, this.#comm, addr, bytes, type);
  }
}
