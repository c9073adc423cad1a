// The requests of one comm in their order, which both directions of a channel share: chunks wait in
// the queue, are posted into the window, the oldest is tested, and each is counted and told of.

import { floatAt } from '../../../base/assert.js';
import type { TcpxError } from '../../../base/errors.js';
import type { CommHandle, RequestHandle } from '../../../base/quantity.js';
import { TEST_PENDING } from '../../../ffi/nccl-net/plugin-calls.hot.js';
import {
  COUNTER_DONE,
  COUNTER_HIGH_WATER,
  COUNTER_POSTED,
  type Direction,
} from '../host-layout.js';
import {
  type ChannelId,
  type ChannelSurroundings,
  checkPlaces,
  messageError,
  PartClock,
  PartCounters,
} from './channel-part.js';
import { ChunkQueue, type ChunkRow } from './chunk-queue.js';

/** A SendWindow or a ReceiveWindow. */
interface RequestWindow {
  readonly limit: number;
  readonly posted: number;
  readonly done: number;
  readonly highWater: number;
  readonly outstanding: number;
  onPosted(): void;
  onDone(): void;
}

export class RequestLine<W extends RequestWindow> {
  readonly queue = new ChunkQueue();
  readonly window: W;
  readonly counters: PartCounters;
  readonly #surroundings: ChannelSurroundings;
  readonly #id: ChannelId;
  readonly #direction: Direction;
  readonly #comm: CommHandle;
  readonly #clock = new PartClock();
  readonly #requests: Float64Array;

  constructor(
    surroundings: ChannelSurroundings,
    id: ChannelId,
    direction: Direction,
    comm: CommHandle,
    window: W,
  ) {
    this.#surroundings = surroundings;
    this.#id = id;
    this.#direction = direction;
    this.#comm = comm;
    this.window = window;
    this.#requests = new Float64Array(window.limit);
    this.counters = new PartCounters(surroundings.float64, id.channel, direction);
  }

  get isIdle(): boolean {
    return this.window.outstanding === 0 && this.window.posted === this.queue.pushed;
  }

  push(source: Float64Array, at: number): void {
    checkPlaces(this.#surroundings, source, at);
    this.queue.push(source, at);
  }

  request(position: number): RequestHandle {
    return floatAt(this.#requests, position % this.window.limit);
  }

  /** The call's answer for the next chunk: its request, or a negative result. */
  onPosted(call: 'isend' | 'irecv', chunk: ChunkRow, answer: number): void {
    const { window, counters } = this;
    if (answer <= 0) throw this.#error(call, chunk, -answer);
    const position = window.posted;
    this.#requests[position % window.limit] = answer;
    window.onPosted();
    this.#clock.onPosted();
    counters.set(COUNTER_POSTED, window.posted);
    counters.set(COUNTER_HIGH_WATER, window.highWater);
    if (window.outstanding === 1) counters.head(this.queue, position, true);
  }

  /** Tests the oldest request; the position that is done with it, or −1. */
  testOldest(): number {
    const { window } = this;
    if (window.done === window.posted) return -1;
    const position = window.done;
    const chunk = this.queue.load(position);
    const { plugin } = this.#surroundings;
    const outcome = plugin.test(this.#id.channel, this.#comm, this.request(position), chunk);
    if (outcome === TEST_PENDING) return -1;
    if (outcome < 0) throw this.#error('test', chunk, -outcome);
    window.onDone();
    this.counters.set(COUNTER_DONE, window.done);
    return position;
  }

  #error(call: string, chunk: ChunkRow, result: number): TcpxError {
    const words = this.#surroundings.lastWarning();
    return messageError(call, this.#id, this.#direction, chunk, result, words);
  }

  /** The last step of the oldest chunk is over. */
  finish(position: number, chunk: ChunkRow): void {
    const { queue, window, counters } = this;
    counters.addBytes(chunk.bytes);
    counters.head(queue, position + 1, window.outstanding > 0);
    this.#clock.onFinished(this.#surroundings, this.#id, this.#direction, queue, position);
    queue.release();
  }
}
