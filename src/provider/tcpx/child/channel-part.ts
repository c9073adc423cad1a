// What both directions of a channel share: the plugin, the regions, the counters in shared memory,
// and the news of finished parts and failures.

import { assert } from '../../../base/assert.js';
import { TcpxError } from '../../../base/errors.js';
import type { ChannelSlot, FlightNumber, Tag } from '../../../base/quantity.js';
import { NET_SYSTEM_ERROR, netResultName } from '../../../ffi/nccl-net/net-result.js';
import {
  CHUNK_BYTES,
  CHUNK_FIELDS,
  CHUNK_INDEX,
  CHUNK_IS_LAST,
  CHUNK_OFFSET,
  CHUNK_PIECES,
  CHUNK_REGION,
  CHUNK_TAG,
  CHUNK_TRANSFER,
  COUNTER_BYTES,
  COUNTER_FLOATS,
  COUNTER_HEAD_BYTES,
  COUNTER_HEAD_CHUNK,
  COUNTER_HEAD_OFFSET,
  COUNTER_HEAD_TAG,
  COUNTER_HEAD_TRANSFER,
  counterFloat,
  type Direction,
  NO_REGION,
  PIECE_BYTES,
  PIECE_FIELDS,
  PIECE_OFFSET,
  PIECE_REGION,
  SEND,
} from '../host-layout.js';
import type { HostOptions } from '../host-message.js';
import type { HostRegion } from '../host-region.js';
import type { CpuMover } from './chunk-mover.js';
import type { ChunkQueue } from './chunk-queue.js';
import type { GpuSide } from './gpu-side.js';
import type { ChunkFacts, GuardedPlugin } from './guarded-plugin.js';
import type { RxdmWatch } from './rxdm-watch.js';

export interface ChannelSurroundings {
  readonly plugin: GuardedPlugin;
  readonly options: HostOptions;
  /** Views of the shared memory. */
  readonly float64: Float64Array;
  /** Of receives, and of what is sent from device memory. */
  readonly pointerType: number;
  readonly cpu: CpuMover;
  /** The rail GPU; undefined where all memory is the processor's. */
  readonly gpu: GpuSide | undefined;
  /** While accept is under way: whether the receive datapath manager owes an answer. */
  readonly rxdm: RxdmWatch;
  /** What the plugin warned of last; empty where nothing was heard. */
  lastWarning(): string;
  /** Size of the bounce buffer where somebody told it, else 0: the driver is asked. */
  bounceBytes(): number;
  region(id: number): HostRegion;
  /** Nobody knows how large the bounce buffer is: fragments are checked against 4 GiB. */
  onUnknownExtent(channel: ChannelSlot): void;
  /** Regions of the channel are sent from the ring although they were to be registered. */
  onFallback(channel: ChannelSlot, reason: string): void;
  onPart(
    channel: ChannelSlot,
    direction: Direction,
    transfer: FlightNumber,
    tag: Tag,
    us: number,
  ): void;
}

export interface ChannelId {
  readonly channel: ChannelSlot;
  readonly nic: string;
  readonly dev: number;
}

/** Counters of one direction, written for the application to read at any time. */
export class PartCounters {
  readonly #float64: Float64Array;
  readonly #at: number;

  constructor(float64: Float64Array, channel: ChannelSlot, direction: Direction) {
    this.#float64 = float64;
    this.#at = counterFloat(channel, direction);
    float64.fill(0, this.#at, this.#at + COUNTER_FLOATS);
  }

  set(counter: number, value: number): void {
    this.#float64[this.#at + counter] = value;
  }

  addBytes(bytes: number): void {
    const at = this.#at + COUNTER_BYTES;
    this.#float64[at] = (this.#float64[at] ?? 0) + bytes;
  }

  add(counter: number, value: number): void {
    this.#float64[this.#at + counter] = (this.#float64[this.#at + counter] ?? 0) + value;
  }

  /** Names the oldest unfinished chunk; nothing when all are finished. */
  head(queue: ChunkQueue, position: number, isPosted: boolean): void {
    this.set(COUNTER_HEAD_TRANSFER, isPosted ? queue.field(position, CHUNK_TRANSFER) : 0);
    if (!isPosted) return;
    this.set(COUNTER_HEAD_CHUNK, queue.field(position, CHUNK_INDEX));
    this.set(COUNTER_HEAD_TAG, queue.field(position, CHUNK_TAG));
    this.set(COUNTER_HEAD_OFFSET, queue.field(position, CHUNK_OFFSET));
    this.set(COUNTER_HEAD_BYTES, queue.field(position, CHUNK_BYTES));
  }
}

/** Microseconds from the first post of a part to its end, and the news of the end. */
export class PartClock {
  #startUs = -1;

  onPosted(): void {
    if (this.#startUs < 0) this.#startUs = performance.now() * 1000;
  }

  /** A chunk is finished; tells when it was the last of its part. */
  onFinished(
    surroundings: ChannelSurroundings,
    id: ChannelId,
    direction: Direction,
    queue: ChunkQueue,
    position: number,
  ): void {
    if (queue.field(position, CHUNK_IS_LAST) !== 1) return;
    const us = performance.now() * 1000 - this.#startUs;
    this.#startUs = -1;
    const transfer = queue.field(position, CHUNK_TRANSFER);
    surroundings.onPart(id.channel, direction, transfer, queue.field(position, CHUNK_TAG), us);
  }
}

/** Our own rules for a chunk record, before it is queued: a chunk at most, inside its regions. */
export function checkPlaces(
  surroundings: ChannelSurroundings,
  record: Float64Array,
  at: number,
): void {
  const bytes = record[at + CHUNK_BYTES] ?? 0;
  assert(bytes <= surroundings.options.chunkBytes, 'a message is at most a chunk');
  const regionId = record[at + CHUNK_REGION] ?? NO_REGION;
  if (regionId === NO_REGION) return;
  const pieces = record[at + CHUNK_PIECES] ?? 0;
  if (pieces === 0) {
    checkPlace(surroundings, regionId, record[at + CHUNK_OFFSET] ?? 0, bytes);
    return;
  }
  let sum = 0;
  for (let index = 0; index < pieces; index++) {
    const row = at + CHUNK_FIELDS + index * PIECE_FIELDS;
    const length = record[row + PIECE_BYTES] ?? 0;
    checkPlace(
      surroundings,
      record[row + PIECE_REGION] ?? 0,
      record[row + PIECE_OFFSET] ?? 0,
      length,
    );
    sum += length;
  }
  assert(sum === bytes, 'pieces make up their chunk');
}

function checkPlace(
  surroundings: ChannelSurroundings,
  regionId: number,
  offset: number,
  bytes: number,
): void {
  const isInside = offset + bytes <= surroundings.region(regionId).bytes;
  assert(isInside, 'a chunk lies in its region');
}

/** The error of a message call, naming role, channel, chunk, tag and offset. */
export function messageError(
  call: string,
  id: ChannelId,
  direction: Direction,
  chunk: ChunkFacts,
  result: number,
  lastWarning: string,
): TcpxError {
  const role = direction === SEND ? 'send' : 'receive';
  const isConnection = result === NET_SYSTEM_ERROR && call === 'test';
  const cause = isConnection ? connectionCause(lastWarning) : 'other';
  const why = cause === 'other' ? netResultName(result) : CAUSE_TEXTS[cause];
  const said = lastWarning === '' ? '' : `; it said: ${lastWarning}`;
  return new TcpxError(
    cause === 'other' ? 'ERR_NCCLNET_CALL' : 'ERR_PEER_LOST',
    `${role} on channel ${id.channel} (${id.nic}): ${call} of chunk ${chunk.chunk}, ` +
      `tag ${chunk.tag}, offset ${chunk.offset}: ${why} (${result})${said}`,
    { facts: chunkErrorFacts(role, id, chunk, result) },
  );
}

const CAUSE_TEXTS = {
  peer: 'the peer closed',
  unknown: 'the peer closed, or the connection to it broke',
} as const;

// The result is the same for a peer that closed and for a socket of ours that failed.
function connectionCause(lastWarning: string): 'peer' | 'unknown' | 'other' {
  if (/closed by remote peer|reset by peer|Broken pipe/i.test(lastWarning)) return 'peer';
  return /failed ?: /.test(lastWarning) ? 'other' : 'unknown';
}

function chunkErrorFacts(role: string, id: ChannelId, chunk: ChunkFacts, result: number) {
  const { chunk: chunkIndex, tag, offset } = chunk;
  return { role, channel: id.channel, nic: id.nic, chunkIndex, tag, offset, result };
}
