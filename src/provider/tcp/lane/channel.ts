// One ordered stream to a peer, as its lane sees it: what is being sent, what is in flight, what is
// being received. All memory is taken when the channel is added; the .hot files only move indexes.

import { type FixedMemory, type MemorySource, mappedMemory } from '../../../os/fixed-memory.js';
import { assert } from '../../../base/assert.js';
import { FLOAT_ZERO } from '../../../base/float-zero.js';
import { type StreamPort, ZERO_COPY_BYTES_MIN } from '../port/stream-port.js';
import {
  HEAD_AND_TABLE_BYTES_MAX,
  NOTIFICATION_BYTES_MAX,
  TABLE_ENTRIES_MAX,
  TABLE_ENTRY_BYTES,
} from '../../../wire/data-frame.js';
import { ChannelStaging } from './channel-staging.js';
import { FLIGHT_MASK, FLIGHT_SLOTS } from './flight.js';

export { FLIGHT_MASK, FLIGHT_SLOTS };

/** In place of a chunk in flight: it was damaged and goes again, so nothing is confirmed by it. */
export const FLIGHT_AGAIN = -3;
/** In place of a chunk: a notification that waits for the chunks before it. */
export const FLIGHT_HELD = -2;
/** In place of a chunk in flight: it was refused, and is not to be counted when it has landed. */
export const FLIGHT_REFUSED = -4;

/** In place of a chunk that was asked for: its transfer has failed, and its bytes are dropped. */
export const FLIGHT_DRAINED = -5;

/** Chunks that a striped channel may hold before its rate is known. */
const FLIGHT_START_CHUNKS = 4;

/** Heads and tables of the frames in one vectored send. */
export const HEAD_MEMORY_BYTES = 128 * 1024;

/** Bytes read before it is known where they belong; holds any head, table and notification. */
export const STAGING_BYTES = HEAD_AND_TABLE_BYTES_MAX + NOTIFICATION_BYTES_MAX + 48 * 1024;
/** Behind the staging bytes: an aligned copy of a head that arrived at an odd place. */
export const ALIGNED_HEAD_AT = Math.ceil(STAGING_BYTES / 64) * 64;

/** Between frames: bytes go to staging. */
export const PHASE_HEAD = 0;
/** Inside a payload: bytes go to the segments, what follows to staging. */
export const PHASE_PAYLOAD = 1;

assert(
  TABLE_ENTRIES_MAX * TABLE_ENTRY_BYTES < ZERO_COPY_BYTES_MIN,
  'a table is too short to go by zero-copy',
);

/** In place of the checksum of a payload that has none: less than any, and no small integer. */
export const NO_CHECKSUM = Number.NEGATIVE_INFINITY;

export interface ChannelOptions {
  readonly port: StreamPort;
  readonly sessionIndex: number;
  readonly channelIndex: number;
  /** Which connection of this index. */
  readonly epoch: number;
  readonly windowChunks: number;
  readonly chunkBytesMax: number;
  /** Whether other channels pull from the same transfers. */
  readonly isStriped: boolean;
  readonly memory?: MemorySource;
}

export class Channel {
  readonly port: StreamPort;
  readonly sessionIndex: number;
  readonly channelIndex: number;
  readonly epoch: number;
  readonly windowChunks: number;
  readonly chunkBytesMax: number;
  readonly #memory: MemorySource;
  isOpen = true;
  /** From the last wake-up or a full read: worth trying. */
  isReadable = true;
  isWritable = true;
  /** The peer has closed its end: the end lies behind the bytes that are there, unannounced. */
  isEnding = false;
  /** The descriptor tells of this many bytes and more. */
  wakeBytes = 1;

  // Sending. Entries sendFirst … sendCount − 1 of the port's vector are still to go.
  readonly heads: FixedMemory;
  headUsedBytes = 0;
  sendFirst = 0;
  sendCount = 0;
  sendBytes = 0;
  /** The vector has ranges that nobody holds: all of it must be copied. */
  isVectorCopied = false;

  // Own WRITE and NOTIFY frames in flight, oldest at writeAcked; chunk −1 is the notification.
  writeNext = 0;
  writeAcked = 0;
  readonly writeTransfer = new Int32Array(FLIGHT_SLOTS);
  readonly writeChunk = new Int32Array(FLIGHT_SLOTS);
  /** Where the frame ends in the stream: nobody can have received it before that was sent. */
  readonly writeEndAt = new Float64Array(FLIGHT_SLOTS);
  /** Chunks that the peer lets this end have in flight at the moment. */
  credit: number;
  /** Chunks that the peer may have in flight to this end, and what it was told. */
  granted: number;
  grantTold: number;
  // Own READ_REQUEST frames in flight, oldest at readDone; those before readArrived are answered.
  readNext = 0;
  readArrived = 0;
  readDone = 0;
  /** The peer holds memory for answers until it is told that they have landed. */
  isConfirmWanted = false;
  readonly readTransfer = new Int32Array(FLIGHT_SLOTS);
  readonly readChunk = new Int32Array(FLIGHT_SLOTS);

  // Striping: what is in flight, what was delivered, and what the rate allows (see flow).
  readonly isStriped: boolean;
  flightBytes = 0;
  flightLimitBytes: number;
  deliveredBytes = FLOAT_ZERO;
  rateBytesPerUs = FLOAT_ZERO;
  readonly writeSentUs = new Float64Array(FLIGHT_SLOTS);
  readonly writeDeliveredAt = new Float64Array(FLIGHT_SLOTS);
  readonly readSentUs = new Float64Array(FLIGHT_SLOTS);
  readonly readDeliveredAt = new Float64Array(FLIGHT_SLOTS);

  // The peer's WRITE and NOTIFY frames: how many have come, how many of them have landed here (less
  // while GPU copies are under way), how many of those it knows of.
  arrived = 0;
  landed = 0;
  ackSent = 0;
  /** Turns that an acknowledgement still waits for a frame to ride on. */
  ackDelayTurns = 0;

  // The peer's reads, oldest at serveDone: serveFramed were framed, serveTail have come, and those
  // before serveConfirmed have landed at the peer. Region −1 marks one that is refused; its reason
  // stands in serveSegments.
  serveDone = 0;
  serveConfirmed = 0;
  serveFramed = 0;
  serveTail = 0;
  readonly serveRegion = new Int32Array(FLIGHT_SLOTS);
  readonly serveBytes = new Int32Array(FLIGHT_SLOTS);
  readonly serveSegments = new Int32Array(FLIGHT_SLOTS);
  /** Not 0 where the answer shall carry a checksum. */
  readonly serveChecked = new Int32Array(FLIGHT_SLOTS);
  /** 1 where the answer may go by reference: its region is held until it is confirmed. */
  readonly serveHeld = new Int32Array(FLIGHT_SLOTS);
  /** Where the answer ends in the stream. */
  readonly serveEndAt = new Float64Array(FLIGHT_SLOTS);
  readonly serveMemory: FixedMemory;

  // Refusals of writes that wait to be sent.
  refuseCount = 0;
  readonly refuseReason = new Int32Array(FLIGHT_SLOTS);
  readonly refuseSequence = new Int32Array(FLIGHT_SLOTS);
  // The last refusals, for a fence: a REFUSE frame may die with its channel.
  refusedCount = 0;
  readonly refusedReason = new Int32Array(FLIGHT_SLOTS);
  readonly refusedSequence = new Int32Array(FLIGHT_SLOTS);
  /** Transfer whose last frame was refused: its notification must not be delivered. */
  refusedTransferLow = FLOAT_ZERO;
  refusedTransferHigh = FLOAT_ZERO;

  // Receiving.
  readonly staging: FixedMemory;
  stagingStart = 0;
  stagingEnd = 0;
  phase = PHASE_HEAD;
  /** Kind of the frame whose payload is being received. */
  frameKind = 0;
  /** Region slot opened for the payload, −1 when none is (draining, or an own read). */
  frameRegion = -1;
  /** The checksum that the payload shall have, and what it has so far. */
  frameChecksum = NO_CHECKSUM;
  receivedChecksum = FLOAT_ZERO;
  /** Sequence of the frame. */
  frameSequence = 0;
  /** Size of the last head with its table: a guess at the next one’s. */
  frameHeadBytes = 64;
  payloadLeft = 0;
  /** What the last read asked for. */
  askedBytes = 0;
  segmentIndex = 0;
  segmentCount = 0;
  readonly segmentAddr = new Float64Array(TABLE_ENTRIES_MAX + 1);
  readonly segmentBytes = new Float64Array(TABLE_ENTRIES_MAX + 1);

  /** What is between GPU memory and the socket. */
  readonly stage = new ChannelStaging();

  // Health: when something was last seen to move, and what stood there then (see channel-health).
  progressUs = FLOAT_ZERO;
  progressMark = Number.NEGATIVE_INFINITY;
  queuedBytes = FLOAT_ZERO;
  isStalled = false;
  /** Bytes received when it was found to stand still. */
  stalledAtBytes = FLOAT_ZERO;

  // Totals since the channel was added.
  sentBytes = FLOAT_ZERO;
  receivedBytes = FLOAT_ZERO;

  constructor(options: ChannelOptions) {
    this.port = options.port;
    this.sessionIndex = options.sessionIndex;
    this.channelIndex = options.channelIndex;
    this.epoch = options.epoch;
    this.windowChunks = options.windowChunks;
    this.credit = options.windowChunks;
    this.granted = options.windowChunks;
    this.grantTold = options.windowChunks;
    this.chunkBytesMax = options.chunkBytesMax;
    this.isStriped = options.isStriped;
    this.flightLimitBytes = options.isStriped
      ? FLIGHT_START_CHUNKS * options.chunkBytesMax
      : Number.POSITIVE_INFINITY;
    this.#memory = options.memory ?? mappedMemory;
    this.heads = this.#memory.create(HEAD_MEMORY_BYTES, { isLow: true });
    this.staging = this.#memory.create(ALIGNED_HEAD_AT + HEAD_AND_TABLE_BYTES_MAX, {
      isLow: true,
    });
    // Two Float64 (address, bytes) per segment of each read that may wait.
    this.serveMemory = this.#memory.create(FLIGHT_SLOTS * TABLE_ENTRIES_MAX * 16, {
      isReserveOnly: true,
    });
  }

  /**
   * Whether all of an own WRITE, NOTIFY or SIGNAL has left. A peer that confirms it earlier lies:
   * its memory would be let go, or it would go again elsewhere, while the vector points at it.
   */
  hasSent(sequence: number): boolean {
    return (this.writeEndAt[sequence & FLIGHT_MASK] ?? 0) <= this.sentBytes;
  }

  /** Frees what the channel holds. With `isAborted` what was not sent yet is thrown away. */
  destroy(isAborted = false): void {
    this.port.close(isAborted);
    this.#memory.destroy(this.heads);
    this.#memory.destroy(this.staging);
    this.#memory.destroy(this.serveMemory);
  }
}
