// A transfer from the lane's side: chunks are claimed, confirmed, failed; the last confirmation
// finishes it. Several lanes work on one transfer, so shared words change atomically.

import { assert } from '../../../base/assert.js';
import { FAIL_CHANNEL } from '../../../base/failure.js';
import type { ChunkIndex, TransferSlot } from '../../../base/quantity.js';
import { publishRecords, reserveRecord } from '../../../os/record-ring.hot.js';
import { chunkWordOf } from './chunk-confirmed.hot.js';
import type { LaneCore, SessionLane } from './lane-core.js';
import {
  ENGINE_FINISHED,
  TRANSFER_CHUNK_COUNT,
  TRANSFER_CLAIM,
  TRANSFER_FAILURE,
  TRANSFER_GENERATION,
  TRANSFER_HOLDERS,
  TRANSFER_NOTIFIED,
  TRANSFER_NOTIFY_BYTES,
  TRANSFER_NOTIFY_FRAMED,
  TRANSFER_REMAINING,
  TRANSFER_SESSION,
  TRANSFER_STATE,
  TransferState,
  transferWord,
} from './layout.js';
import { EVENT_FINISHED, EVENT_RETRY } from './messages.js';

function word(core: LaneCore, slot: TransferSlot, index: number): number {
  return transferWord(core.transfersAt, slot, index);
}

/** A transfer enters this lane: its chunks wait on the session, or only its notification does. */
export function submitTransfer(core: LaneCore, slot: TransferSlot): void {
  // It may be over by now: other lanes share it. Its entry stays while anybody holds it.
  const holders = Atomics.load(core.int32, word(core, slot, TRANSFER_HOLDERS));
  assert(holders > 0, 'a transfer that is handed over is held');
  const session = core.sessions[core.int32[word(core, slot, TRANSFER_SESSION)]!]!;
  const isNotifyOnly = core.int32[word(core, slot, TRANSFER_CHUNK_COUNT)] === 0;
  if (!session.isOpen) {
    failTransfer(core, slot, FAIL_CHANNEL);
    if (isNotifyOnly) confirmChunks(core, slot, 1);
    releaseHolder(core, slot);
    return;
  }
  if (isNotifyOnly) {
    pushNotify(core, session, slot);
    releaseHolder(core, slot);
    return;
  }
  core.nextActive[slot] = -1;
  if (session.activeTail < 0) session.activeHead = slot;
  else core.nextActive[session.activeTail] = slot;
  session.activeTail = slot;
}

/**
 * The next chunk, or −1: one that has to be sent again, or of the session's oldest transfer.
 * The transfer is core.claimedSlot.
 */
export function claimChunk(core: LaneCore, session: SessionLane): ChunkIndex {
  if (session.retries.length > 0) {
    core.claimedSlot = session.retries.shift()!;
    return session.retries.shift()!;
  }
  while (session.activeHead >= 0) {
    const slot = session.activeHead;
    const chunk = Atomics.add(core.int32, word(core, slot, TRANSFER_CLAIM), 1);
    if (chunk < core.int32[word(core, slot, TRANSFER_CHUNK_COUNT)]!) {
      core.claimedSlot = slot;
      return chunk;
    }
    popActive(core, session);
  }
  return -1;
}

/** Word index of the first chunk that nobody has claimed; −1 when all are. */
export function nextChunkWord(core: LaneCore, slot: TransferSlot): number {
  const chunk = Atomics.load(core.int32, word(core, slot, TRANSFER_CLAIM));
  if (chunk >= core.int32[word(core, slot, TRANSFER_CHUNK_COUNT)]!) return -1;
  return chunkWordOf(core, slot, chunk);
}

function popActive(core: LaneCore, session: SessionLane): void {
  const slot = session.activeHead;
  session.activeHead = core.nextActive[slot]!;
  if (session.activeHead < 0) session.activeTail = -1;
  releaseHolder(core, slot);
}

/** Lets go of transfers that other lanes have claimed to the end. */
export function popExhausted(core: LaneCore, session: SessionLane): void {
  while (session.activeHead >= 0) {
    const slot = session.activeHead;
    const claim = Atomics.load(core.int32, word(core, slot, TRANSFER_CLAIM));
    if (claim < core.int32[word(core, slot, TRANSFER_CHUNK_COUNT)]!) return;
    popActive(core, session);
  }
}

export function releaseHolder(core: LaneCore, slot: TransferSlot): void {
  const holders = Atomics.sub(core.int32, word(core, slot, TRANSFER_HOLDERS), 1);
  assert(holders > 0, 'a transfer is let go by those who hold it');
}

export function pushNotify(core: LaneCore, session: SessionLane, slot: TransferSlot): void {
  if (session.openChannels === 0) {
    returnChunk(core, slot, -1);
    return;
  }
  core.nextNotify[slot] = -1;
  if (session.notifyTail < 0) session.notifyHead = slot;
  else core.nextNotify[session.notifyTail] = slot;
  session.notifyTail = slot;
}

/** The oldest transfer whose notification may go now, or −1. */
export function takeNotify(core: LaneCore, session: SessionLane): number {
  const slot = session.notifyHead;
  if (slot < 0) return -1;
  session.notifyHead = core.nextNotify[slot]!;
  if (session.notifyHead < 0) session.notifyTail = -1;
  return slot;
}

/** The peer has confirmed the notification: a cancel that comes now comes too late. */
export function confirmNotify(core: LaneCore, slot: TransferSlot): void {
  core.int32[word(core, slot, TRANSFER_NOTIFIED)] = 1;
}

/** `count` chunks, or the notification, are confirmed or given up. */
export function confirmChunks(core: LaneCore, slot: TransferSlot, count: number): void {
  const left = Atomics.sub(core.int32, word(core, slot, TRANSFER_REMAINING), count) - count;
  if (left <= 1) onLastConfirmed(core, slot, left);
}

function onLastConfirmed(core: LaneCore, slot: TransferSlot, left: number): void {
  assert(left >= 0, 'no more is confirmed than a transfer has');
  const int32 = core.int32;
  if (left === 0) {
    finishTransfer(core, slot);
    return;
  }
  if (int32[word(core, slot, TRANSFER_NOTIFY_BYTES)]! < 0) return;
  if (int32[word(core, slot, TRANSFER_NOTIFY_FRAMED)] === 1) return;
  // Every chunk has landed: only now may the notification follow.
  int32[word(core, slot, TRANSFER_NOTIFY_FRAMED)] = 1;
  if (Atomics.load(int32, word(core, slot, TRANSFER_FAILURE)) !== 0) {
    confirmChunks(core, slot, 1);
    return;
  }
  const session = core.sessions[int32[word(core, slot, TRANSFER_SESSION)]!]!;
  pushNotify(core, session, slot);
}

/** Records the first reason and gives up the chunks that nobody has claimed. */
export function failTransfer(core: LaneCore, slot: TransferSlot, reason: number): void {
  const int32 = core.int32;
  if (Atomics.compareExchange(int32, word(core, slot, TRANSFER_FAILURE), 0, reason) !== 0) return;
  const chunkCount = int32[word(core, slot, TRANSFER_CHUNK_COUNT)]!;
  const claimed = Atomics.exchange(int32, word(core, slot, TRANSFER_CLAIM), chunkCount);
  if (claimed < chunkCount) confirmChunks(core, slot, chunkCount - claimed);
}

function finishTransfer(core: LaneCore, slot: TransferSlot): void {
  const int32 = core.int32;
  const failure = Atomics.load(int32, word(core, slot, TRANSFER_FAILURE));
  const state = failure === 0 ? TransferState.Done : TransferState.Failed;
  const generation = int32[word(core, slot, TRANSFER_GENERATION)]!;
  Atomics.store(int32, word(core, slot, TRANSFER_STATE), state);
  // There is always room: notifications leave a reserve for one event per transfer.
  const at = reserveRecord(core.events, EVENT_FINISHED, 8) >> 2;
  assert(at >= 0, 'the event ring has room for a finished transfer');
  int32[at] = slot;
  int32[at + 1] = generation;
  publishRecords(core.events);
  // After the event: who sees the new count and no event would sleep through it.
  Atomics.add(int32, ENGINE_FINISHED, 1);
  core.hasNews = true;
  core.hasFinished = true;
}

/** Nobody here can send this chunk (−1: the notification): the main thread finds who can. */
export function returnChunk(core: LaneCore, slot: TransferSlot, chunk: ChunkIndex): void {
  const at = reserveRecord(core.events, EVENT_RETRY, 12) >> 2;
  assert(at >= 0, 'the event ring has room for a chunk that comes back');
  core.int32[at] = slot;
  core.int32[at + 1] = core.int32[word(core, slot, TRANSFER_GENERATION)]!;
  core.int32[at + 2] = chunk;
  publishRecords(core.events);
  core.hasNews = true;
}

/** One chunk, or the notification, will not be confirmed any more. */
export function giveUp(core: LaneCore, slot: TransferSlot): void {
  failTransfer(core, slot, FAIL_CHANNEL);
  confirmChunks(core, slot, 1);
}

/** The session is gone: everything that waits on it in this lane fails. */
export function failSession(core: LaneCore, session: SessionLane): void {
  session.isOpen = false;
  while (session.activeHead >= 0) {
    failTransfer(core, session.activeHead, FAIL_CHANNEL);
    popActive(core, session);
  }
  while (session.retries.length > 0) {
    giveUp(core, session.retries.shift()!);
    session.retries.shift();
  }
  for (let slot = takeNotify(core, session); slot >= 0; slot = takeNotify(core, session)) {
    // Its chunks were confirmed; what is left is the notification itself.
    giveUp(core, slot);
  }
}
