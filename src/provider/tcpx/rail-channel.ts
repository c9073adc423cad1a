// One channel as the application sees it: a slot in a plugin process.

import { at } from '../../base/assert.js';
import type { TcpxError } from '../../base/errors.js';
import type { FlightNumber, Tag } from '../../base/quantity.js';
import { type ChannelCounters, readCounters } from './channel-counters.js';
import type { CommandQueue } from './command-queue.js';
import type { ThreadPlacement } from './helper-threads.js';
import {
  CHUNK_BYTES,
  CHUNK_CHANNEL,
  CHUNK_DIRECTION,
  CHUNK_FIELDS,
  CHUNK_INDEX,
  CHUNK_IS_LAST,
  CHUNK_OFFSET,
  CHUNK_PIECES,
  CHUNK_REGION,
  CHUNK_TAG,
  CHUNK_TRANSFER,
  type Direction,
  PIECE_FIELDS,
  RECEIVE,
  SEND,
} from './host-layout.js';
import type { PluginHost } from './plugin-host.js';

/** The plugin process of a channel, or a simulation's. */
export interface ChannelHost
  extends Pick<
    PluginHost,
    'isAlive' | 'error' | 'placement' | 'request' | 'fail' | 'counters' | 'sendFallback'
  > {
  readonly commands: Pick<CommandQueue, 'putChunk' | 'flush'>;
}

export interface RailChannelParts {
  readonly host: ChannelHost;
  readonly slot: number;
  readonly nic: string;
  readonly handle: string;
  readonly timeoutMs: number;
  /** Throws for a handle that must not be connected to. */
  checkPeer(handle: string): void;
  /** Gives slot and sockets back. */
  free(): void;
}

export interface ChunkOrder {
  readonly direction: Direction;
  readonly transfer: FlightNumber;
  readonly index: number;
  readonly tag: Tag;
  readonly region: number;
  readonly offset: number;
  readonly bytes: number;
  readonly isLast: boolean;
  /** Rows of PIECE_FIELDS numbers, where the chunk is gathered from several places. */
  readonly pieces?: Float64Array;
}

export class RailChannel {
  readonly #parts: RailChannelParts;
  readonly #fields = new Float64Array(CHUNK_FIELDS);
  /** Chunks that were put, by direction; the process counts alike from the join on. */
  readonly #putCounts = [0, 0];
  #isJoined = false;
  #isClosed = false;

  constructor(parts: RailChannelParts) {
    this.#parts = parts;
  }

  get nic(): string {
    return this.#parts.nic;
  }

  get handle(): string {
    return this.#parts.handle;
  }

  /** Why the channel's process is gone; empty while it lives. */
  get hostFailure(): string {
    return this.#parts.host.error?.message ?? '';
  }

  /** Of the helper threads of the channel's process; undefined before they were seen. */
  get placement(): ThreadPlacement | undefined {
    return this.#parts.host.placement;
  }

  /** Connects to the peer's handle and accepts on the own one. */
  async join(peerHandle: string): Promise<void> {
    const { host, slot, timeoutMs } = this.#parts;
    this.#parts.checkPeer(peerHandle);
    await host.request({ op: 'join', channel: slot, handle: peerHandle }, timeoutMs);
    this.#isJoined = true;
  }

  putCount(direction: Direction): number {
    return at(this.#putCounts, direction);
  }

  put(order: ChunkOrder): void {
    this.#putCounts[order.direction] = this.putCount(order.direction) + 1;
    const { pieces } = order;
    const fields = pieces === undefined ? this.#fields : withRoom(pieces);
    fields[CHUNK_CHANNEL] = this.#parts.slot;
    fields[CHUNK_DIRECTION] = order.direction;
    fields[CHUNK_TRANSFER] = order.transfer;
    fields[CHUNK_INDEX] = order.index;
    fields[CHUNK_TAG] = order.tag;
    fields[CHUNK_REGION] = order.region;
    fields[CHUNK_OFFSET] = order.offset;
    fields[CHUNK_BYTES] = order.bytes;
    fields[CHUNK_IS_LAST] = order.isLast ? 1 : 0;
    fields[CHUNK_PIECES] = pieces === undefined ? 0 : pieces.length / PIECE_FIELDS;
    this.#parts.host.commands.putChunk(fields);
  }

  /** Makes what was put visible to the process. */
  flush(): void {
    this.#parts.host.commands.flush();
  }

  counters(direction: Direction): ChannelCounters {
    const { host, slot } = this.#parts;
    const sendFallback = direction === SEND ? host.sendFallback(slot) : '';
    return readCounters(host.counters(slot, direction), sendFallback);
  }

  /** Bytes of finished receives. Before the join the counters are those of the slot's last user. */
  get receivedBytes(): number {
    return this.#isJoined ? this.counters(RECEIVE).bytes : 0;
  }

  /** Afterwards no byte moves on it: it is closed, or its process is gone. */
  async close(timeoutMs: number): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { host, slot } = this.#parts;
    // A refusal or no answer: the channel cannot be closed alone, its process is ended.
    if (host.isAlive) {
      await host
        .request({ op: 'close', channel: slot }, timeoutMs)
        .catch((error: unknown) => host.fail(error as TcpxError));
    }
    this.#parts.free();
  }
}

function withRoom(pieces: Float64Array): Float64Array {
  const fields = new Float64Array(CHUNK_FIELDS + pieces.length);
  fields.set(pieces, CHUNK_FIELDS);
  return fields;
}
