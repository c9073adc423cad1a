// The receiving direction of a channel: network done → unpack done → consumed, in order, at most
// the window's number between post and consume. Payload reaches its destination only here, after
// the scatter list was checked; a channel that is closed writes nothing more.

import { TcpxError } from '../../base/errors.js';
import { copyMemory, type Mapping, mapMemory, unmapMemory } from '../../ffi/libc/mapping.js';
import { POINTER_HOST } from '../../ffi/nccl-net/net-plugin.js';
import { ReceiveWindow } from '../../flow/sliding-window.hot.js';
import { CHUNKS_MAX, ENTRY_PARTS } from '../../memory/scatter-entry.js';
import { checkFragments } from '../../memory/scatter-list.hot.js';
import { scatterListError } from '../../memory/scatter-list.js';
import {
  type ChannelId,
  type ChannelSurroundings,
  checkPlaces,
  messageError,
  PartClock,
  PartCounters,
} from './channel-part.js';
import { ChunkQueue, type ChunkRow } from './chunk-queue.js';
import {
  CHUNK_PIECES,
  CHUNK_REGION,
  COUNTER_CONSUMED,
  COUNTER_DONE,
  COUNTER_FRAGMENTS,
  COUNTER_HIGH_WATER,
  COUNTER_POSTED,
  COUNTER_UNPACKED,
  NO_REGION,
  RECEIVE,
} from './host-layout.js';
import { PieceCopier } from './piece-copy.js';
import { RequestSizes, UnpackQueue } from './unpack-queue.js';

const PAGE_BYTES = 4096;

export class ReceiveChannel {
  readonly queue = new ChunkQueue();
  readonly window: ReceiveWindow;
  readonly #surroundings: ChannelSurroundings;
  readonly #id: ChannelId;
  readonly #comm: number;
  readonly #counters: PartCounters;
  readonly #clock = new PartClock();
  readonly #copier: PieceCopier;
  readonly #requests: Float64Array;
  readonly #slotBytes: number;
  /** Not read for host receives: on a GPU machine it lies in GPU memory. */
  readonly #unpack: UnpackQueue | undefined;
  readonly #sizes = new RequestSizes();
  /** Posted buffers: slack for host receives, which the plugin does not bound; else unused. */
  readonly #ring: Mapping;
  readonly #mhandle: number;
  readonly #isHost: boolean;
  #staging: Mapping | undefined;

  constructor(surroundings: ChannelSurroundings, id: ChannelId, comm: number, deviceAddr: number) {
    this.#surroundings = surroundings;
    this.#id = id;
    this.#comm = comm;
    const { options, pointerType } = surroundings;
    this.#copier = new PieceCopier(
      this.queue.pieces,
      (regionId) => surroundings.region(regionId).addr,
    );
    this.window = new ReceiveWindow(options.recvWindow);
    this.#requests = new Float64Array(options.recvWindow);
    this.#counters = new PartCounters(surroundings.float64, id.channel, RECEIVE);
    this.#isHost = pointerType === POINTER_HOST;
    this.#unpack = this.#isHost ? undefined : new UnpackQueue(deviceAddr);
    this.#slotBytes = Math.ceil(options.chunkBytes / PAGE_BYTES) * PAGE_BYTES;
    const slots = this.#isHost ? options.recvWindow : 1;
    this.#ring = mapMemory(this.#slotBytes * slots);
    const { addr, bytes } = this.#ring;
    this.#mhandle = surroundings.plugin.register(id.channel, comm, addr, bytes, pointerType);
  }

  get isIdle(): boolean {
    return this.window.outstanding === 0 && this.window.posted === this.queue.pushed;
  }

  push(source: Float64Array, at: number): void {
    checkPlaces(this.#surroundings, source, at);
    this.queue.push(source, at);
  }

  post(): boolean {
    const { window, queue } = this;
    if (window.posted === queue.pushed || !window.hasRoom) return false;
    const position = window.posted;
    const chunk = queue.load(position);
    const addr = this.#slotAddr(position);
    const { plugin } = this.#surroundings;
    const request = plugin.irecv(this.#id.channel, this.#comm, addr, this.#mhandle, chunk);
    if (request <= 0) throw messageError('irecv', this.#id, RECEIVE, chunk, -request);
    this.#requests[position % window.limit] = request;
    window.onPosted();
    this.#clock.onPosted();
    this.#counters.set(COUNTER_POSTED, window.posted);
    this.#counters.set(COUNTER_HIGH_WATER, window.highWater);
    if (window.outstanding === 1) this.#counters.head(queue, position, true);
    return true;
  }

  /** Tests the oldest, unpacks what is done, consumes what is unpacked; whether anything moved. */
  progress(): boolean {
    const { window, queue } = this;
    if (window.done === window.posted) return false;
    const position = window.done;
    const chunk = queue.load(position);
    const { plugin } = this.#surroundings;
    const request = this.#requests[position % window.limit] ?? 0;
    const outcome = plugin.test(this.#id.channel, this.#comm, request, chunk);
    if (outcome === 0) return false;
    if (outcome < 0) throw messageError('test', this.#id, RECEIVE, chunk, -outcome);
    window.onDone();
    this.#counters.set(COUNTER_DONE, window.done);
    this.#place(position, chunk, request);
    window.onUnpacked();
    this.#counters.set(COUNTER_UNPACKED, window.unpacked);
    if (this.#surroundings.options.isConsumeSkipped === true) return true;
    this.#consume(position, chunk, request);
    return true;
  }

  close(): void {
    const { plugin } = this.#surroundings;
    plugin.deregister(this.#id.channel, this.#comm, this.#mhandle);
    plugin.closeReceive(this.#id.channel, this.#comm);
    unmapMemory(this.#ring);
    if (this.#staging !== undefined) unmapMemory(this.#staging);
  }

  #slotAddr(position: number): number {
    return this.#isHost
      ? this.#ring.addr + (position % this.window.limit) * this.#slotBytes
      : this.#ring.addr;
  }

  #consume(position: number, chunk: ChunkRow, request: number): void {
    const { window, queue } = this;
    const { plugin } = this.#surroundings;
    const result = plugin.consumed(this.#id.channel, this.#comm, request, chunk);
    if (result < 0) throw messageError('irecvConsumed', this.#id, RECEIVE, chunk, -result);
    window.onConsumed();
    this.#counters.set(COUNTER_CONSUMED, window.consumed);
    this.#counters.addBytes(chunk.bytes);
    this.#counters.head(queue, window.consumed, window.outstanding > 0);
    this.#clock.onFinished(this.#surroundings, this.#id, RECEIVE, queue, position);
    queue.release();
  }

  // Every finished receive has used a slot, empty and unwanted ones too.
  #place(position: number, chunk: ChunkRow, request: number): void {
    const slot = position % CHUNKS_MAX;
    this.#checkLength(chunk, request);
    const regionId = this.queue.field(position, CHUNK_REGION);
    const isKept = regionId !== NO_REGION;
    if (this.#unpack === undefined) {
      if (isKept) this.#copyWhole(position, chunk, this.#slotAddr(position));
      return;
    }
    const count = this.#unpack.count(slot);
    const entries = this.#unpack.slots[slot] ?? new Uint32Array(0);
    const bounceBytes = this.#surroundings.bounceBytes();
    const answer = checkFragments(entries, count, chunk.bytes, bounceBytes);
    if (answer < 0) {
      throw scatterListError(answer, { count, expectedBytes: chunk.bytes, bounceBytes });
    }
    this.#counters.add(COUNTER_FRAGMENTS, count);
    const { bounceAddr } = this.#unpack;
    if (isKept) this.#copyFragments(position, chunk, entries, count, bounceAddr);
    const { trace } = this.#surroundings.plugin;
    if (trace === undefined) return;
    const { channel } = this.#id;
    trace.write('unpack', { channel, chunk: chunk.chunk, tag: chunk.tag, fragments: count });
  }

  #checkLength(chunk: ChunkRow, request: number): void {
    const seen = this.#sizes.privateBytes(request);
    if (seen === chunk.bytes || (seen < 0 && !this.#isHost)) return;
    throw new TcpxError(
      'ERR_WIRE_LIMIT',
      `receive on channel ${this.#id.channel} (${this.#id.nic}): chunk ${chunk.chunk}, ` +
        `tag ${chunk.tag}, offset ${chunk.offset}: message of ${seen} bytes, ${chunk.bytes} due`,
      { facts: { channel: this.#id.channel, tag: chunk.tag, bytes: seen, due: chunk.bytes } },
    );
  }

  #copyFragments(
    position: number,
    chunk: ChunkRow,
    entries: Uint32Array,
    count: number,
    bounceAddr: number,
  ): void {
    const { unpack } = this.#surroundings.options;
    if (unpack === 'none') return;
    const pieceCount = this.queue.field(position, CHUNK_PIECES);
    if (pieceCount > 0 && unpack !== 'host') {
      const first = this.queue.firstPiece(position);
      this.#copier.scatterFragments(first, pieceCount, entries, count, bounceAddr);
      return;
    }
    const to = unpack === 'host' ? this.#stagingAddr() : this.#targetAddr(position, chunk);
    for (let at = 0; at < count * ENTRY_PARTS; at += ENTRY_PARTS) {
      // The offset in the message lies below the message's length: the high word is 0.
      const offset = entries[at + 2] ?? 0;
      copyMemory(to + offset, bounceAddr + (entries[at] ?? 0), entries[at + 1] ?? 0);
    }
    if (unpack === 'host') this.#copyWhole(position, chunk, to);
  }

  /** From a buffer that has the whole message. */
  #copyWhole(position: number, chunk: ChunkRow, source: number): void {
    const pieceCount = this.queue.field(position, CHUNK_PIECES);
    if (pieceCount === 0) copyMemory(this.#targetAddr(position, chunk), source, chunk.bytes);
    else this.#copier.scatter(this.queue.firstPiece(position), pieceCount, source);
  }

  #targetAddr(position: number, chunk: ChunkRow): number {
    const regionId = this.queue.field(position, CHUNK_REGION);
    return this.#surroundings.region(regionId).addr + chunk.offset;
  }

  #stagingAddr(): number {
    this.#staging ??= mapMemory(this.#slotBytes);
    return this.#staging.addr;
  }
}
