// A channel as its plugin process has it: a listen comm with a handle, then a send and a receive
// comm. When it is closed, or its process is gone, nothing of it moves any more.

import { TcpxError } from '../../../src/base/errors.js';
import type { ChannelListener } from '../../../src/provider/tcpx/channel-set.js';
import {
  CHUNK_BYTES,
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
  NO_REGION,
  PIECE_BYTES,
  PIECE_FIELDS,
  PIECE_OFFSET,
  PIECE_REGION,
  SEND,
} from '../../../src/provider/tcpx/host-layout.js';
import { SimComm } from './sim-comm.js';
import type { SimFabric } from './sim-fabric.js';
import type { SimProcess } from './sim-process.js';

export interface ChunkPiece {
  readonly region: number;
  readonly offset: number;
  readonly bytes: number;
}

export interface ChunkOrder {
  readonly direction: Direction;
  readonly transfer: number;
  readonly index: number;
  readonly tag: number;
  readonly bytes: number;
  readonly isLast: boolean;
  /** None: received and thrown away. */
  readonly pieces: readonly ChunkPiece[];
}

/** A record as the application writes it. */
export function readOrder(fields: Float64Array): ChunkOrder {
  const at = (index: number): number => fields[index] ?? Number.NaN;
  const [region, offset, bytes] = [at(CHUNK_REGION), at(CHUNK_OFFSET), at(CHUNK_BYTES)];
  const rows = Array.from({ length: at(CHUNK_PIECES) }, (_, row) => {
    const first = CHUNK_FIELDS + row * PIECE_FIELDS;
    return {
      region: at(first + PIECE_REGION),
      offset: at(first + PIECE_OFFSET),
      bytes: at(first + PIECE_BYTES),
    };
  });
  const one = region === NO_REGION ? [] : [{ region, offset, bytes }];
  return {
    direction: at(CHUNK_DIRECTION) as Direction,
    transfer: at(CHUNK_TRANSFER),
    index: at(CHUNK_INDEX),
    tag: at(CHUNK_TAG),
    bytes,
    isLast: at(CHUNK_IS_LAST) === 1,
    pieces: rows.length > 0 ? rows : one,
  };
}

export class SimChannel {
  readonly process: SimProcess;
  readonly slot: number;
  readonly nic: string;
  readonly handle: string;
  readonly #fabric: SimFabric;
  readonly #listener: ChannelListener;
  #out: SimComm | undefined;
  #into: SimComm | undefined;
  #onJoined: (() => void) | undefined;
  isClosed = false;
  isBroken = false;
  /** The application has let go of it. */
  isFree = false;

  constructor(
    fabric: SimFabric,
    process: SimProcess,
    place: { readonly slot: number; readonly nic: string; readonly handle: string },
    listener: ChannelListener,
  ) {
    this.#fabric = fabric;
    this.process = process;
    this.slot = place.slot;
    this.nic = place.nic;
    this.handle = place.handle;
    this.#listener = listener;
    fabric.listening.set(this.handle, this);
  }

  get isGone(): boolean {
    return this.isClosed || this.isBroken || this.process.isGone;
  }

  get isJoining(): boolean {
    return this.#onJoined !== undefined;
  }

  get comms(): SimComm[] {
    return [this.#out, this.#into].filter((comm) => comm !== undefined);
  }

  /** Its thread does something, when it runs; not when the channel is gone. */
  act(step: () => void): void {
    this.process.whenRunning(() => {
      if (!this.isGone) step();
    });
  }

  join(peerHandle: string, onDone: (error: TcpxError | undefined) => void): void {
    this.#onJoined = () => onDone(undefined);
    this.#fabric.soon('wire', () => {
      if (this.isGone || this.#fabric.isFailing('silentJoins')) return;
      const peer = this.#fabric.listening.get(peerHandle);
      if (peer === undefined || peer.isGone || this.#fabric.isFailing('joins')) {
        this.#onJoined = undefined;
        onDone(new TcpxError('ERR_NCCLNET_CALL', `connect on ${this.nic}: nobody listens`));
        return;
      }
      this.#out = new SimComm(this.#fabric, this, peer);
      peer.#into = this.#out;
      this.#checkJoined();
      peer.#checkJoined();
    });
  }

  #checkJoined(): void {
    const onJoined = this.#onJoined;
    if (this.#out === undefined || this.#into === undefined || onJoined === undefined) return;
    this.#onJoined = undefined;
    this.act(onJoined);
  }

  put(order: ChunkOrder): void {
    if (this.isGone) return;
    if (this.process.isUnmappable(order)) {
      this.break(new TcpxError('ERR_USAGE_STATE', `channel on ${this.nic}: no such region`));
      return;
    }
    if (order.direction === SEND) this.#out?.send(order);
    else this.#into?.receive(order);
  }

  tellPart(direction: Direction, { transfer, tag }: ChunkOrder): void {
    const part = { channel: this.slot, direction, transfer, lastTag: tag, durationUs: 1 };
    this.process.tell(() => this.#listener.onPart(part));
  }

  /** The plugin has failed on it: the process tells so and leaves it alone. */
  break(error: TcpxError): void {
    if (this.isGone) return;
    this.isBroken = true;
    this.process.tell(() => this.#listener.onBroken(error));
  }

  /** Its process is gone, as the application knows now. */
  tellDeath(error: TcpxError): void {
    if (!this.isFree) this.#listener.onBroken(error);
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#fabric.listening.delete(this.handle);
    this.#out?.cutTail();
    this.#into?.checkEnd();
  }
}
