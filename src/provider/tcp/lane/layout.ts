// Where the main thread and the lanes find things in the memory that they share: indexes of the
// fields of base/shared-layout.ts, which says who writes each and what it means, and the places of
// the blocks.

import { fieldIndex } from '../../../base/shared-block.js';
import {
  ENGINE_BLOCK,
  LANE_BLOCK,
  SESSION_BLOCK,
  TRANSFER_BLOCK,
} from '../../../base/shared-layout.js';
import { REGION_ENTRY_BYTES } from '../../../memory/region-table.js';
import { RING_HEADER_BYTES } from '../../../os/record-ring.js';

export const ENGINE_MAIN_SLEEPS = fieldIndex(ENGINE_BLOCK, 'mainSleeps');
export const ENGINE_FINISHED = fieldIndex(ENGINE_BLOCK, 'finished');
export const ENGINE_NOTIFICATIONS = fieldIndex(ENGINE_BLOCK, 'notifications');
export const ENGINE_WAITERS = fieldIndex(ENGINE_BLOCK, 'waiters');

const TRANSFER_BYTES = TRANSFER_BLOCK.bytes;
const TRANSFER_WORDS = TRANSFER_BYTES / 4;
const TRANSFER_FLOATS = TRANSFER_BYTES / 8;

export const TRANSFER_STATE = fieldIndex(TRANSFER_BLOCK, 'state');
export const TRANSFER_GENERATION = fieldIndex(TRANSFER_BLOCK, 'generation');
export const TRANSFER_OPERATION = fieldIndex(TRANSFER_BLOCK, 'operation');
export const TRANSFER_SESSION = fieldIndex(TRANSFER_BLOCK, 'session');
export const TRANSFER_CHUNK_COUNT = fieldIndex(TRANSFER_BLOCK, 'chunkCount');
export const TRANSFER_NOTIFY_BYTES = fieldIndex(TRANSFER_BLOCK, 'notifyBytes');
export const TRANSFER_FAILURE = fieldIndex(TRANSFER_BLOCK, 'failure');
export const TRANSFER_RETRIES = fieldIndex(TRANSFER_BLOCK, 'retries');
export const TRANSFER_SOURCE_DEVICE = fieldIndex(TRANSFER_BLOCK, 'sourceDevice');
export const TRANSFER_NOTIFY_FRAMED = fieldIndex(TRANSFER_BLOCK, 'notifyFramed');
export const TRANSFER_DAMAGED = fieldIndex(TRANSFER_BLOCK, 'damaged');
export const TRANSFER_DAMAGED_ON = fieldIndex(TRANSFER_BLOCK, 'damagedOn');
export const TRANSFER_STAGED = fieldIndex(TRANSFER_BLOCK, 'staged');
export const TRANSFER_NOTIFIED = fieldIndex(TRANSFER_BLOCK, 'notified');
export const TRANSFER_EVEN = fieldIndex(TRANSFER_BLOCK, 'even');
export const TRANSFER_BY_TURNS = fieldIndex(TRANSFER_BLOCK, 'byTurns');
export const TRANSFER_COPIED = fieldIndex(TRANSFER_BLOCK, 'copied');
export const TRANSFER_REMOTES_AT = fieldIndex(TRANSFER_BLOCK, 'remotesAt');
export const TRANSFER_PAIRS_AT = fieldIndex(TRANSFER_BLOCK, 'pairsAt');
export const TRANSFER_CHUNKS_AT = fieldIndex(TRANSFER_BLOCK, 'chunksAt');
export const TRANSFER_NOTIFY_AT = fieldIndex(TRANSFER_BLOCK, 'notifyAt');
export const TRANSFER_SOURCE_EVENT = fieldIndex(TRANSFER_BLOCK, 'sourceEvent');
export const TRANSFER_CLAIM = fieldIndex(TRANSFER_BLOCK, 'claim');
export const TRANSFER_HOLDERS = fieldIndex(TRANSFER_BLOCK, 'holders');
export const TRANSFER_REMAINING = fieldIndex(TRANSFER_BLOCK, 'remaining');
export const TRANSFER_CHANNEL_BYTES = fieldIndex(TRANSFER_BLOCK, 'channelBytes');
export const TRANSFER_CHANNEL_CHUNKS = fieldIndex(TRANSFER_BLOCK, 'channelChunks');
export const TRANSFER_COPY_OUT_US = fieldIndex(TRANSFER_BLOCK, 'copyOutUs');
export const TRANSFER_SEND_US = fieldIndex(TRANSFER_BLOCK, 'sendUs');
export const TRANSFER_RECEIVE_US = fieldIndex(TRANSFER_BLOCK, 'receiveUs');
export const TRANSFER_COPY_IN_US = fieldIndex(TRANSFER_BLOCK, 'copyInUs');
export const TRANSFER_PEER_COPY_US = fieldIndex(TRANSFER_BLOCK, 'peerCopyUs');
export const SESSION_CHANNELS = fieldIndex(SESSION_BLOCK, 'channels');

export const TransferState = { Free: 0, Active: 1, Done: 2, Failed: 3 } as const;

export const OPERATION_WRITE = 1;
export const OPERATION_READ = 2;
/** A message between the engines: no chunks, its notification goes as a SIGNAL. */
export const OPERATION_SIGNAL = 3;

export const LANE_CONTROL_BYTES = LANE_BLOCK.bytes;
export const LANE_SLEEPS = fieldIndex(LANE_BLOCK, 'sleeps');
export const LANE_STOP = fieldIndex(LANE_BLOCK, 'stop');
export const LANE_TURNS = fieldIndex(LANE_BLOCK, 'turns');
export const LANE_SLEEP_COUNT = fieldIndex(LANE_BLOCK, 'sleepCount');
export const LANE_LAST_CPU = fieldIndex(LANE_BLOCK, 'lastCpu');
export const LANE_DRAINED = fieldIndex(LANE_BLOCK, 'drained');
export const LANE_MEMORY_NODE = fieldIndex(LANE_BLOCK, 'memoryNode');
export const LANE_PAUSES = fieldIndex(LANE_BLOCK, 'pauses');
export const LANE_PAUSED_US = fieldIndex(LANE_BLOCK, 'pausedUs');
export const LANE_LONGEST_PAUSE_US = fieldIndex(LANE_BLOCK, 'longestPauseUs');
export const LANE_ZERO_COPY = fieldIndex(LANE_BLOCK, 'zeroCopy');

// Address space; pages come when they are used. What may wait in a ring at most is far less.
export const COMMAND_RING_BYTES = 8 * 1024 * 1024;
export const EVENT_RING_BYTES = 8 * 1024 * 1024;
/** Space in the event ring that is left for what must never wait: events of transfers, channels. */
export const EVENT_RESERVE_BYTES = 7 * 1024 * 1024;

export interface SharedShape {
  readonly regionCount: number;
  readonly transferCount: number;
  readonly sessionCount: number;
  readonly laneCount: number;
  readonly arenaBytes: number;
}

export interface SharedOffsets {
  readonly regionsAt: number;
  readonly transfersAt: number;
  readonly sessionsAt: number;
  readonly lanesAt: number;
  readonly laneBytes: number;
  readonly arenaAt: number;
  readonly totalBytes: number;
}

export function sharedOffsets(shape: SharedShape): SharedOffsets {
  const regionsAt = ENGINE_BLOCK.bytes;
  const transfersAt = roundPage(regionsAt + shape.regionCount * REGION_ENTRY_BYTES);
  const sessionsAt = roundPage(transfersAt + shape.transferCount * TRANSFER_BYTES);
  const lanesAt = roundPage(sessionsAt + shape.sessionCount * SESSION_BLOCK.bytes);
  const laneBytes = roundPage(
    LANE_CONTROL_BYTES + 2 * RING_HEADER_BYTES + COMMAND_RING_BYTES + EVENT_RING_BYTES,
  );
  const arenaAt = lanesAt + shape.laneCount * laneBytes;
  return {
    regionsAt,
    transfersAt,
    sessionsAt,
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
