// The sending direction of a channel: chunks are sent from their registered region, or copied into
// a ring of registered buffers, at most the window's number at a time. Only the oldest is tested.

import { copyMemory, type Mapping, mapMemory, unmapMemory } from '../../ffi/libc/mapping.js';
import { SendWindow } from '../../flow/sliding-window.hot.js';
import {
  type ChannelId,
  type ChannelSurroundings,
  checkPlaces,
  messageError,
  PartClock,
  PartCounters,
} from './channel-part.js';
import { ChunkQueue } from './chunk-queue.js';
import {
  CHUNK_PIECES,
  CHUNK_REGION,
  COUNTER_DONE,
  COUNTER_HIGH_WATER,
  COUNTER_POSTED,
  SEND,
} from './host-layout.js';
import { PieceCopier } from './piece-copy.js';

const PAGE_BYTES = 4096;
/** The interface takes a 32-bit length, and offsets of 31 bits. */
const REGISTERED_BYTES_MAX = 2 ** 31 - PAGE_BYTES;

export class SendChannel {
  readonly queue = new ChunkQueue();
  readonly window: SendWindow;
  readonly #surroundings: ChannelSurroundings;
  readonly #id: ChannelId;
  readonly #comm: number;
  readonly #counters: PartCounters;
  readonly #clock = new PartClock();
  readonly #copier: PieceCopier;
  readonly #requests: Float64Array;
  readonly #slotBytes: number;
  #ring: Mapping | undefined;
  #ringHandle = 0;
  /** Registrations of regions with this comm, where chunks are sent in place. */
  readonly #regionHandles = new Map<number, number>();

  constructor(surroundings: ChannelSurroundings, id: ChannelId, comm: number) {
    this.#surroundings = surroundings;
    this.#id = id;
    this.#comm = comm;
    const { options } = surroundings;
    this.#copier = new PieceCopier(this.queue.pieces, (id) => surroundings.region(id).addr);
    this.window = new SendWindow(options.sendWindow);
    this.#requests = new Float64Array(options.sendWindow);
    this.#counters = new PartCounters(surroundings.float64, id.channel, SEND);
    this.#slotBytes = Math.ceil(options.chunkBytes / PAGE_BYTES) * PAGE_BYTES;
  }

  get isIdle(): boolean {
    return this.window.outstanding === 0 && this.window.posted === this.queue.pushed;
  }

  push(source: Float64Array, at: number): void {
    checkPlaces(this.#surroundings, source, at);
    this.queue.push(source, at);
  }

  /** Posts the next chunk where the window has room; whether it did. */
  post(): boolean {
    const { window, queue } = this;
    if (window.posted === queue.pushed || !window.hasRoom) return false;
    const position = window.posted;
    const chunk = queue.load(position);
    const regionId = queue.field(position, CHUNK_REGION);
    const region = this.#surroundings.region(regionId);
    const pieceCount = queue.field(position, CHUNK_PIECES);
    const isInPlace = pieceCount === 0 && this.#isInPlace(region);
    const mhandle = isInPlace ? this.#regionHandle(regionId) : this.#openedRing();
    const addr = isInPlace ? region.addr + chunk.offset : this.#slotAddr(position);
    if (pieceCount > 0) this.#copier.gather(queue.firstPiece(position), pieceCount, addr);
    else if (!isInPlace) copyMemory(addr, region.addr + chunk.offset, chunk.bytes);
    const { plugin } = this.#surroundings;
    const request = plugin.isend(this.#id.channel, this.#comm, addr, mhandle, chunk);
    if (request <= 0) throw messageError('isend', this.#id, SEND, chunk, -request);
    this.#requests[position % window.limit] = request;
    window.onPosted();
    this.#clock.onPosted();
    this.#counters.set(COUNTER_POSTED, window.posted);
    this.#counters.set(COUNTER_HIGH_WATER, window.highWater);
    if (window.outstanding === 1) this.#counters.head(queue, position, true);
    return true;
  }

  /** Tests the oldest; whether it is done. */
  progress(): boolean {
    const { window, queue } = this;
    if (window.outstanding === 0) return false;
    const position = window.done;
    const chunk = queue.load(position);
    const { plugin } = this.#surroundings;
    const request = this.#requests[position % window.limit] ?? 0;
    const outcome = plugin.test(this.#id.channel, this.#comm, request, chunk);
    if (outcome === 0) return false;
    if (outcome < 0) throw messageError('test', this.#id, SEND, chunk, -outcome);
    window.onDone();
    this.#counters.set(COUNTER_DONE, window.done);
    this.#counters.addBytes(chunk.bytes);
    this.#counters.head(queue, window.done, window.outstanding > 0);
    this.#clock.onFinished(this.#surroundings, this.#id, SEND, queue, position);
    queue.release();
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
    const { plugin } = this.#surroundings;
    for (const mhandle of [...this.#regionHandles.values(), this.#ringHandle]) {
      if (mhandle !== 0) plugin.deregister(this.#id.channel, this.#comm, mhandle);
    }
    plugin.closeSend(this.#id.channel, this.#comm);
    if (this.#ring !== undefined) unmapMemory(this.#ring);
  }

  // Regions are host memory here: a registration only records, and any offset may be sent from.
  #isInPlace(region: Mapping): boolean {
    return this.#surroundings.options.sendFrom !== 'ring' && region.bytes <= REGISTERED_BYTES_MAX;
  }

  /** Handle of the ring, which is made for the first chunk that needs it. */
  #openedRing(): number {
    if (this.#ring !== undefined) return this.#ringHandle;
    this.#ring = mapMemory(this.#slotBytes * this.window.limit, { isPopulated: true });
    this.#ringHandle = this.#register(this.#ring, this.#surroundings.pointerType);
    return this.#ringHandle;
  }

  #slotAddr(position: number): number {
    return (this.#ring?.addr ?? 0) + (position % this.window.limit) * this.#slotBytes;
  }

  #regionHandle(regionId: number): number {
    const known = this.#regionHandles.get(regionId);
    if (known !== undefined) return known;
    const { pointerType } = this.#surroundings;
    const mhandle = this.#register(this.#surroundings.region(regionId), pointerType);
    this.#regionHandles.set(regionId, mhandle);
    return mhandle;
  }

  #register(mapping: Mapping, type: number): number {
    const { plugin } = this.#surroundings;
    return plugin.register(this.#id.channel, this.#comm, mapping.addr, mapping.bytes, type);
  }
}
