// Words of the memory that the main thread and the lanes share. Both import these offsets, and
// docs/shared-layout.md prints them. One writer per word unless it says atomic.
//
//   ┌────────────┬───────────────┬──────────────┬───────────────────────────┬───────────┐
//   │ engine 4 K │ regions × 64  │ transfers    │ lanes × (control + rings) │ arena     │
//   │            │               │ × 512        │                           │ (requests)│
//   └────────────┴───────────────┴──────────────┴───────────────────────────┴───────────┘

import { RING_HEADER_BYTES } from '../../../os/record-ring.js';
import { REGION_ENTRY_BYTES } from '../../../memory/region-table.js';

export const ENGINE_BLOCK_BYTES = 4096;
/** 1 while the main thread sleeps and wants a byte in its pipe; the lane that rings clears it. */
export const ENGINE_MAIN_SLEEPS = 0;
/** Counts finished transfers; a blocking wait sleeps on this word (futex). */
export const ENGINE_FINISHED = 32;
/** Atomic: counts notifications of all lanes, so that main can hand them on as they landed. */
export const ENGINE_NOTIFICATIONS = 96;
/** Threads that sleep on ENGINE_FINISHED. */
export const ENGINE_WAITERS = 64;

export const TRANSFER_BYTES = 512;
const TRANSFER_WORDS = TRANSFER_BYTES / 4;
const TRANSFER_FLOATS = TRANSFER_BYTES / 8;

// Int32 words of a transfer, first line: written by main before the transfer is handed out.
export const TRANSFER_STATE = 0;
export const TRANSFER_GENERATION = 1;
export const TRANSFER_OPERATION = 2;
export const TRANSFER_SESSION = 3;
export const TRANSFER_CHUNK_COUNT = 4;
export const TRANSFER_NOTIFY_BYTES = 5;
/** Atomic: 0, or why the transfer failed (FAIL_…); the first reason stays. */
export const TRANSFER_FAILURE = 6;
/** Atomic: chunks and notifications that had to be sent again. */
export const TRANSFER_RETRIES = 7;
/** GPU + 1 of an event that must have happened before the source is read; 0 once it has. */
export const TRANSFER_SOURCE_DEVICE = 12;
/** 1 once the notification is on its way or given up. */
export const TRANSFER_NOTIFY_FRAMED = 8;
/** Atomic: chunks that arrived damaged, and 1 + the channel on which the last did. */
export const TRANSFER_DAMAGED = 9;
export const TRANSFER_DAMAGED_ON = 10;
/** 1 when GPU memory is at either end: stage times are kept. */
export const TRANSFER_STAGED = 11;
/** 1 once the peer has confirmed the notification. */
export const TRANSFER_NOTIFIED = 13;
// Float64 indexes, same line: byte offsets into the arena.
export const TRANSFER_REMOTES_AT = 8;
export const TRANSFER_PAIRS_AT = 9;
export const TRANSFER_CHUNKS_AT = 10;
export const TRANSFER_NOTIFY_AT = 11;
/** Float64: handle of the event. */
export const TRANSFER_SOURCE_EVENT = 12;
// Second and third line, atomic: shared by the lanes.
/** Next chunk that nobody has claimed. */
export const TRANSFER_CLAIM = 32;
/** Lanes that may still look at this entry; it is reused only at 0. */
export const TRANSFER_HOLDERS = 33;
/** Chunks (and the notification) that are not confirmed yet. */
export const TRANSFER_REMAINING = 48;
// Receipt: bytes (Float64) and chunks (Int32) per channel, each written by the channel's lane.
export const TRANSFER_CHANNEL_BYTES = 32;
export const TRANSFER_CHANNEL_CHUNKS = 96;
export const CHANNELS_MAX = 16;
// Stage times of a staged transfer in µs, sums over its chunks. Atomic: all lanes add.
export const TRANSFER_COPY_OUT_US = 112;
export const TRANSFER_SEND_US = 113;
export const TRANSFER_RECEIVE_US = 114;
export const TRANSFER_COPY_IN_US = 115;

export const TRANSFER_LAYOUT = [
  {
    name: 'state',
    offset: 0,
    writer: 'main, then the finishing lane',
    meaning: '0 free, 1 active, 2 done, 3 failed',
  },
  { name: 'generation', offset: 4, writer: 'main', meaning: 'counts uses of the entry' },
  { name: 'operation', offset: 8, writer: 'main', meaning: '1 write, 2 read, 3 signal' },
  { name: 'session', offset: 12, writer: 'main', meaning: 'session index' },
  { name: 'chunkCount', offset: 16, writer: 'main', meaning: 'chunks of the request' },
  {
    name: 'notifyBytes',
    offset: 20,
    writer: 'main',
    meaning: 'length of the notification, −1 without one',
  },
  {
    name: 'failure',
    offset: 24,
    writer: 'lanes (atomic, first wins)',
    meaning: 'why it failed, or 0',
  },
  {
    name: 'retries',
    offset: 28,
    writer: 'lanes (atomic add)',
    meaning: 'chunks and notifications sent again',
  },
  {
    name: 'notifyFramed',
    offset: 32,
    writer: 'main, then lanes',
    meaning: '1 once the notification is on its way or given up',
  },
  {
    name: 'damaged',
    offset: 36,
    writer: 'lanes (atomic add)',
    meaning: 'chunks whose checksum was wrong; sent again',
  },
  { name: 'damagedOn', offset: 40, writer: 'lanes', meaning: '1 + the channel of the last one' },
  {
    name: 'staged',
    offset: 44,
    writer: 'main',
    meaning: '1 when GPU memory is at either end',
  },
  {
    name: 'sourceDevice',
    offset: 48,
    writer: 'main, then lanes (atomic)',
    meaning: 'GPU + 1 of the event to wait for, 0 without one or once it has happened',
  },
  { name: 'notified', offset: 52, writer: 'lanes', meaning: '1 once the notification has landed' },
  {
    name: 'remotesAt … notifyAt',
    offset: 64,
    writer: 'main',
    meaning: 'four float64 offsets into the arena',
  },
  { name: 'sourceEvent', offset: 96, writer: 'main', meaning: 'float64, handle of the event' },
  { name: 'claim', offset: 128, writer: 'lanes (atomic add)', meaning: 'next unclaimed chunk' },
  {
    name: 'holders',
    offset: 132,
    writer: 'main and lanes (atomic)',
    meaning: 'lanes that may look at it',
  },
  {
    name: 'remaining',
    offset: 192,
    writer: 'lanes (atomic sub)',
    meaning: 'unconfirmed chunks, notification included',
  },
  { name: 'channelBytes', offset: 256, writer: 'lane of the channel', meaning: '16 float64' },
  { name: 'channelChunks', offset: 384, writer: 'lane of the channel', meaning: '16 int32' },
  { name: 'copyOutUs', offset: 448, writer: 'lanes (atomic add)', meaning: 'GPU → staging' },
  { name: 'sendUs', offset: 452, writer: 'lanes (atomic add)', meaning: 'framed → confirmed' },
  { name: 'receiveUs', offset: 456, writer: 'lanes (atomic add)', meaning: 'asked → received' },
  { name: 'copyInUs', offset: 460, writer: 'lanes (atomic add)', meaning: 'staging → GPU' },
] as const;

export const TransferState = { Free: 0, Active: 1, Done: 2, Failed: 3 } as const;

export const OPERATION_WRITE = 1;
export const OPERATION_READ = 2;
/** A message between the engines: no chunks, its notification goes as a SIGNAL. */
export const OPERATION_SIGNAL = 3;

// Why a transfer failed. Those below 16 are the REFUSE reasons of the wire.
export const FAIL_STALE = 1;
export const FAIL_KEY = 2;
export const FAIL_RIGHTS = 3;
export const FAIL_BOUNDS = 4;
/** REFUSE_CHECKSUM is 5: it fails a transfer only when it comes again and again. */
export const FAIL_CHECKSUM = 5;
export const FAIL_EXPIRED = 6;
/** The GPU of the peer failed; equals the REFUSE reason of the wire. */
export const FAIL_PEER_DEVICE = 16;
/** Our own GPU failed. */
export const FAIL_DEVICE = 17;
export const FAIL_CHANNEL = 32;
export const FAIL_CANCELLED = 33;

export const LANE_CONTROL_BYTES = 4096;
/** 1 while the lane sleeps in epoll and wants its doorbell rung. */
export const LANE_SLEEPS = 0;
/** Set by main: leave the loop. */
export const LANE_STOP = 32;
// Counters, written by the lane (Float64 indexes).
export const LANE_TURNS = 64;
export const LANE_SLEEP_COUNT = 65;
export const LANE_LAST_CPU = 66;
/** Bytes that came and were thrown away: of refused writes, and of reads given up meanwhile. */
export const LANE_DRAINED = 67;
/** Zero-copy counters of the channels with index 0 … 15, four Float64 each. */
export const LANE_ZERO_COPY = 128;

// Address space; pages come when they are used. What may wait in a ring at most is far less.
export const COMMAND_RING_BYTES = 8 * 1024 * 1024;
export const EVENT_RING_BYTES = 8 * 1024 * 1024;
/** Space in the event ring that is left for what must never wait: events of transfers, channels. */
export const EVENT_RESERVE_BYTES = 7 * 1024 * 1024;
export { RING_HEADER_BYTES };

export interface SharedShape {
  readonly regionCount: number;
  readonly transferCount: number;
  readonly laneCount: number;
  readonly arenaBytes: number;
}

export interface SharedOffsets {
  readonly regionsAt: number;
  readonly transfersAt: number;
  readonly lanesAt: number;
  readonly laneBytes: number;
  readonly arenaAt: number;
  readonly totalBytes: number;
}

export function sharedOffsets(shape: SharedShape): SharedOffsets {
  const regionsAt = ENGINE_BLOCK_BYTES;
  const transfersAt = roundPage(regionsAt + shape.regionCount * REGION_ENTRY_BYTES);
  const lanesAt = roundPage(transfersAt + shape.transferCount * TRANSFER_BYTES);
  const laneBytes = roundPage(
    LANE_CONTROL_BYTES + 2 * RING_HEADER_BYTES + COMMAND_RING_BYTES + EVENT_RING_BYTES,
  );
  const arenaAt = lanesAt + shape.laneCount * laneBytes;
  return {
    regionsAt,
    transfersAt,
    lanesAt,
    laneBytes,
    arenaAt,
    totalBytes: arenaAt + roundPage(shape.arenaBytes),
  };
}

function roundPage(bytes: number): number {
  return Math.ceil(bytes / 4096) * 4096;
}

export function transferWord(transfersAt: number, slot: number, word: number): number {
  return transfersAt / 4 + slot * TRANSFER_WORDS + word;
}

export function transferFloat(transfersAt: number, slot: number, float: number): number {
  return transfersAt / 8 + slot * TRANSFER_FLOATS + float;
}
