// The receiving direction of a channel: network done → unpack done → consumed, in order, at most
// the window's number between post and consume. Payload reaches its destination only here, after
// the scatter list was checked; a channel that is closed writes nothing more.

import { assert } from '../../../base/assert.js';
import { TcpxError } from '../../../base/errors.js';
import type { CommHandle, MemoryHandle, RequestHandle } from '../../../base/quantity.js';
import { POINTER_HOST } from '../../../ffi/nccl-net/net-plugin.js';
import { GATHERED_BLOCKS_MAX } from '../../../flow/matched-plan.js';
import { ReceiveWindow } from '../../../flow/sliding-window.hot.js';
import { CHUNKS_MAX, FRAGMENTS_MAX } from '../../../gpu/scatter-entry.js';
import { checkFragments } from '../../../gpu/scatter-list.hot.js';
import { scatterListError } from '../../../gpu/scatter-list.js';
import {
  CHUNK_PIECES,
  CHUNK_REGION,
  COUNTER_BOUNCE_BYTES,
  COUNTER_CONSUMED,
  COUNTER_FRAGMENTS,
  COUNTER_UNPACKED,
  COUNTER_WINDOW_BYTES,
  NO_REGION,
  RECEIVE,
} from '../host-layout.js';
import { type ChannelId, type ChannelSurroundings, messageError } from './channel-part.js';
import { DONE_AT_ONCE } from './chunk-mover.js';
import type { ChunkRow } from './chunk-queue.js';
import { GpuPieces } from './gpu-pieces.js';
import { PieceCopiers, type PieceRange } from './piece-copy.js';
import { CpuPieces } from './piece-mover.js';
import { RequestLine } from './request-line.js';
import { hostRing, type RingMemory, roundToPage } from './ring-memory.js';
import { cpuReader, RequestSizes, UnpackQueue, type UnpackSlot } from './unpack-queue.js';

/** Every border between two pieces, or two fragments, may cut once more. */
const PIECES_MAX = GATHERED_BLOCKS_MAX + FRAGMENTS_MAX;

export class ReceiveChannel {
  readonly #line: RequestLine<ReceiveWindow>;
  readonly #surroundings: ChannelSurroundings;
  readonly #id: ChannelId;
  readonly #comm: CommHandle;
  readonly #gpuPieces: GpuPieces | undefined;
  readonly #copiers: PieceCopiers;
  readonly #slotBytes: number;
  /** Numbers of the copies to their destination, by position modulo the window. */
  readonly #copies: Float64Array;
  /** Fragments of each, for the trace. */
  readonly #fragments: Int32Array;
  /** Not read for host receives. */
  readonly #unpack: UnpackQueue | undefined;
  readonly #sizes = new RequestSizes();
  /** Posted buffers: slack for host receives, which the plugin does not bound; else unused. */
  readonly #ring: RingMemory;
  readonly #mhandle: MemoryHandle;
  readonly #isHost: boolean;

  constructor(
    surroundings: ChannelSurroundings,
    id: ChannelId,
    comm: CommHandle,
    deviceAddr: number,
  ) {
    this.#surroundings = surroundings;
    this.#id = id;
    this.#comm = comm;
    const { options, pointerType, gpu } = surroundings;
    const window = new ReceiveWindow(options.recvWindow);
    this.#line = new RequestLine(surroundings, id, RECEIVE, comm, window);
    const limits = { window: options.recvWindow, piecesMax: PIECES_MAX };
    this.#gpuPieces = gpu && new GpuPieces(gpu.into, 'scatter', limits);
    const { pieces } = this.#line.queue;
    const cpuPieces = new CpuPieces('scatter');
    this.#copiers = new PieceCopiers(pieces, surroundings, cpuPieces, this.#gpuPieces);
    this.#copies = new Float64Array(options.recvWindow);
    this.#fragments = new Int32Array(options.recvWindow);
    this.#isHost = pointerType === POINTER_HOST;
    const reader = surroundings.gpu ?? cpuReader;
    this.#unpack = this.#isHost
      ? undefined
      : new UnpackQueue(deviceAddr, reader, surroundings.bounceBytes());
    if (this.#unpack?.isExtentGuessed === true) surroundings.onUnknownExtent(id.channel);
    else this.#line.counters.set(COUNTER_BOUNCE_BYTES, this.#unpack?.bounceBytes ?? 0);
    const windowBytes = roundToPage(options.chunkBytes) * options.recvWindow;
    this.#line.counters.set(COUNTER_WINDOW_BYTES, windowBytes);
    this.#slotBytes = roundToPage(options.chunkBytes);
    this.#ring = this.#makeRing();
    const { addr, bytes } = this.#ring;
    this.#mhandle = surroundings.plugin.register(id.channel, comm, addr, bytes, pointerType);
  }

  get isIdle(): boolean {
    return this.#line.isIdle;
  }

  push(source: Float64Array, at: number): void {
    this.#line.push(source, at);
  }

  post(): boolean {
    const { window, queue } = this.#line;
    if (window.posted === queue.pushed || !window.hasRoom) return false;
    const position = window.posted;
    const chunk = queue.load(position);
    const addr = this.#slotAddr(position);
    const { plugin } = this.#surroundings;
    const request = plugin.irecv(this.#id.channel, this.#comm, addr, this.#mhandle, chunk);
    this.#line.onPosted('irecv', chunk, request);
    return true;
  }

  /** Tests the oldest, unpacks what is done, consumes what is unpacked; whether anything moved. */
  progress(): boolean {
    const hasArrived = this.#takeArrived();
    return this.#finishUnpacked() || hasArrived;
  }

  close(): void {
    const { plugin, cpu, gpu } = this.#surroundings;
    cpu.finish();
    gpu?.into.finish();
    this.#gpuPieces?.free();
    gpu?.into.forget(this.#unpack?.slots ?? []);
    plugin.deregister(this.#id.channel, this.#comm, this.#mhandle);
    plugin.closeReceive(this.#id.channel, this.#comm);
    this.#ring.free();
  }

  #makeRing(): RingMemory {
    const { gpu, options, pointerType } = this.#surroundings;
    if (this.#isHost) {
      const bytes = this.#slotBytes * options.recvWindow;
      return gpu?.pinnedRing(bytes) ?? hostRing(bytes, pointerType);
    }
    return gpu?.deviceRing(this.#slotBytes) ?? hostRing(this.#slotBytes, pointerType);
  }

  #takeArrived(): boolean {
    const { queue, window } = this.#line;
    const position = this.#line.testOldest();
    if (position < 0) return false;
    const request = this.#line.request(position);
    this.#copies[position % window.limit] = this.#place(position, queue.load(position), request);
    return true;
  }

  // In order: a copy that is done waits for those before it.
  #finishUnpacked(): boolean {
    const { window, queue } = this.#line;
    let hasMoved = false;
    while (window.unpacked < window.done && this.#isPlaced(window.unpacked)) {
      const position = window.unpacked;
      const chunk = queue.load(position);
      window.onUnpacked();
      this.#line.counters.set(COUNTER_UNPACKED, window.unpacked);
      this.#traceUnpack(position, chunk);
      hasMoved = true;
      if (this.#surroundings.options.isConsumeSkipped === true) continue;
      this.#consume(position, chunk);
    }
    return hasMoved;
  }

  #isPlaced(position: number): boolean {
    const copy = this.#copies[position % this.#line.window.limit] ?? DONE_AT_ONCE;
    return copy === DONE_AT_ONCE || this.#surroundings.gpu?.into.isDone(copy) !== false;
  }

  #slotAddr(position: number): number {
    return this.#isHost
      ? this.#ring.addr + (position % this.#line.window.limit) * this.#slotBytes
      : this.#ring.addr;
  }

  #consume(position: number, chunk: ChunkRow): void {
    const { window, counters } = this.#line;
    const { plugin } = this.#surroundings;
    const request = this.#line.request(position);
    const result = plugin.consumed(this.#id.channel, this.#comm, request, chunk);
    if (result < 0) {
      const words = this.#surroundings.lastWarning();
      throw messageError('irecvConsumed', this.#id, RECEIVE, chunk, -result, words);
    }
    window.onConsumed();
    counters.set(COUNTER_CONSUMED, window.consumed);
    this.#line.finish(position, chunk);
  }

  // Every finished receive has used a slot, empty and unwanted ones too. The copy's number.
  #place(position: number, chunk: ChunkRow, request: RequestHandle): number {
    this.#checkLength(chunk, request);
    const regionId = this.#line.queue.field(position, CHUNK_REGION);
    const { cpu, gpu } = this.#surroundings;
    const region = regionId === NO_REGION ? undefined : this.#surroundings.region(regionId);
    const pieces = this.#piecesOf(position);
    if (this.#unpack === undefined) {
      if (region === undefined || chunk.bytes === 0) return DONE_AT_ONCE;
      const source = this.#slotAddr(position);
      if (pieces.count > 0) {
        // The buffer of a host receive is reached by both: the GPU only where pieces are its own.
        const copier = this.#copiers.by(this.#copiers.hasDevice(pieces));
        return copier.whole(position, pieces, source);
      }
      if (!region.isDevice) return cpu.copy(region.addr + chunk.offset, source, chunk.bytes);
      assert(gpu !== undefined, 'GPU memory is mapped by hosts with a GPU');
      return gpu.into.copy(region.deviceAddr + chunk.offset, source, chunk.bytes);
    }
    const slot = this.#unpack.slots[position % CHUNKS_MAX];
    assert(slot !== undefined, 'as many slots as requests');
    const count = this.#unpack.count(position % CHUNKS_MAX);
    const { bounceBytes } = this.#unpack;
    const mover = gpu?.into ?? cpu;
    const packed = mover.packedOf(slot);
    const longest = checkFragments(slot.entries, count, chunk.bytes, bounceBytes, packed);
    if (longest < 0) {
      throw scatterListError(longest, { count, expectedBytes: chunk.bytes, bounceBytes });
    }
    this.#line.counters.add(COUNTER_FRAGMENTS, count);
    this.#fragments[position % this.#line.window.limit] = count;
    if (region === undefined) return DONE_AT_ONCE;
    if (pieces.count > 0) return this.#scatterFragments(position, pieces, slot, count);
    return mover.unpack(slot, count, longest, region, chunk);
  }

  #piecesOf(position: number): PieceRange {
    const { queue } = this.#line;
    return { first: queue.firstPiece(position), count: queue.field(position, CHUNK_PIECES) };
  }

  // Whoever reaches the bounce buffer.
  #scatterFragments(position: number, pieces: PieceRange, slot: UnpackSlot, count: number): number {
    const { gpu, options } = this.#surroundings;
    if (options.unpack === 'none') return DONE_AT_ONCE;
    const copier = this.#copiers.by(gpu !== undefined);
    return copier.fragments(position, pieces, slot.entries, count, slot.bounceAddr);
  }

  #traceUnpack(position: number, chunk: ChunkRow): void {
    const { trace } = this.#surroundings.plugin;
    if (trace === undefined || this.#unpack === undefined) return;
    const { channel } = this.#id;
    const fragments = this.#fragments[position % this.#line.window.limit] ?? 0;
    trace.write('unpack', { channel, chunk: chunk.chunk, tag: chunk.tag, fragments });
  }

  #checkLength(chunk: ChunkRow, request: RequestHandle): void {
    const seen = this.#sizes.privateBytes(request);
    if (seen === chunk.bytes || (seen < 0 && !this.#isHost)) return;
    throw new TcpxError(
      'ERR_WIRE_LIMIT',
      `receive on channel ${this.#id.channel} (${this.#id.nic}): chunk ${chunk.chunk}, ` +
        `tag ${chunk.tag}, offset ${chunk.offset}: message of ${seen} bytes, ${chunk.bytes} due`,
      { facts: { channel: this.#id.channel, tag: chunk.tag, bytes: seen, due: chunk.bytes } },
    );
  }
}
