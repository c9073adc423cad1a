// The memory that the application and a plugin host share: one anonymous file, mapped by both.
//
//   0         4 K                    20 K             20 K + 256 + 512 K        + 256 + 256 K
//   ┌─────────┬──────────────────────┬────────────────┬─────────────────────────┐
//   │ control │ counters: 64 channels│ commands       │ events                  │
//   │ words   │ × 2 directions × 128 │ application →  │ ← host                  │
//   └─────────┴──────────────────────┴────────────────┴─────────────────────────┘
//
// One writer per word unless it says atomic. Int32 words on lines of their own.

import type { ChannelSlot } from '../../base/quantity.js';
import { RING_HEADER_BYTES } from '../../os/record-ring.js';

/** Host: rises with every turn of its loop. */
export const WORD_HEARTBEAT = 0;
/** Host sets 1 before it sleeps; the application clears it (atomic), writes a byte. */
export const WORD_HOST_SLEEPS = 32;
/** Application sets 1 when it has seen all events; the host clears it (atomic), writes a byte. */
export const WORD_APP_SLEEPS = 96;
/** Host: the plugin call it is in (index into PLUGIN_CALLS), and for which channel. */
export const WORD_CALL = 128;
export const WORD_CALL_CHANNEL = 129;

export const HOST_CHANNELS_MAX = 64;
const COUNTERS_AT = 4096;
/** Float64 per channel and direction. */
export const COUNTER_FLOATS = 16;
export const COUNTER_POSTED = 0;
export const COUNTER_DONE = 1;
export const COUNTER_UNPACKED = 2;
export const COUNTER_CONSUMED = 3;
export const COUNTER_HIGH_WATER = 4;
export const COUNTER_BYTES = 5;
/** The oldest chunk that is posted and not finished. */
export const COUNTER_HEAD_TRANSFER = 6;
export const COUNTER_HEAD_CHUNK = 7;
export const COUNTER_HEAD_TAG = 8;
export const COUNTER_HEAD_OFFSET = 9;
export const COUNTER_HEAD_BYTES = 10;
export const COUNTER_FRAGMENTS = 11;
/** Sends: chunks that were copied into the ring, the others went from their region. */
export const COUNTER_RING_CHUNKS = 12;
/** Receives: the bounce buffer, 0 where nobody knows it, and what a full window takes of it. */
export const COUNTER_BOUNCE_BYTES = 13;
export const COUNTER_WINDOW_BYTES = 14;

const COUNTERS_BYTES = HOST_CHANNELS_MAX * 2 * COUNTER_FLOATS * 8;
export const COMMANDS_AT = COUNTERS_AT + COUNTERS_BYTES;
export const COMMANDS_BYTES = 512 * 1024;
export const EVENTS_AT = COMMANDS_AT + RING_HEADER_BYTES + COMMANDS_BYTES;
export const EVENTS_BYTES = 256 * 1024;
export const SHARED_BYTES = EVENTS_AT + RING_HEADER_BYTES + EVENTS_BYTES;

export const SEND = 0;
export const RECEIVE = 1;
export type Direction = typeof SEND | typeof RECEIVE;

/** Float64 index of the counters of a channel. */
export function counterFloat(channel: ChannelSlot, direction: number): number {
  return COUNTERS_AT / 8 + (channel * 2 + direction) * COUNTER_FLOATS;
}

/** Calls by number, as WORD_CALL names them; 0 is none. */
export const PLUGIN_CALLS = [
  '',
  'load',
  'init',
  'listen',
  'connect',
  'accept',
  'regMr',
  'deregMr',
  'isend',
  'irecv',
  'test',
  'irecvConsumed',
  'closeSend',
  'closeRecv',
  'closeListen',
] as const;
export type PluginCallName = (typeof PLUGIN_CALLS)[number];

/** Calls that may take seconds in good health: drivers, steering rules, joined threads. */
export const SLOW_CALLS: readonly PluginCallName[] = [
  ...(['load', 'init', 'listen', 'accept', 'regMr', 'deregMr'] as const),
  ...(['closeSend', 'closeRecv', 'closeListen'] as const),
];

// Records. TEXT carries JSON; the others are Float64 fields in this order.
export const RECORD_TEXT = 1;
export const RECORD_CHUNK = 2;
export const RECORD_PART = 3;

/** A chunk to send or to receive. */
export const CHUNK_CHANNEL = 0;
export const CHUNK_DIRECTION = 1;
export const CHUNK_TRANSFER = 2;
export const CHUNK_INDEX = 3;
export const CHUNK_TAG = 4;
/** Number of the region; NO_REGION receives and throws away. */
export const CHUNK_REGION = 5;
export const CHUNK_OFFSET = 6;
export const CHUNK_BYTES = 7;
/** 1 on the last chunk of its transfer on this channel and direction: ends in a RECORD_PART. */
export const CHUNK_IS_LAST = 8;
/** 0, or the number of pieces of a gathered chunk; their rows follow the fields of the record. */
export const CHUNK_PIECES = 9;
export const CHUNK_FIELDS = 10;
/** A piece: region, offset and length. */
export const PIECE_REGION = 0;
export const PIECE_OFFSET = 1;
export const PIECE_BYTES = 2;
export const PIECE_FIELDS = 3;
export const NO_REGION = -1;

/** All chunks of a transfer on one channel and direction are finished. */
export const PART_CHANNEL = 0;
export const PART_DIRECTION = 1;
export const PART_TRANSFER = 2;
export const PART_LAST_TAG = 3;
/** Microseconds from the first post of the part to its end. */
export const PART_DURATION_US = 4;
export const PART_FIELDS = 5;
