// From GPU memory to the socket: chunks are claimed, copied into pinned slots ahead of the socket,
// framed when their copy is done, and their slots are free again once the bytes are sent, or, sent
// by reference, confirmed (held-slots). The same slots carry the answers to a peer's reads
// (served-copies).

import { FAIL_DEVICE } from '../../../base/failure.js';
import type { ChunkIndex, TransferSlot } from '../../../base/quantity.js';
import {
  CHUNK_BYTES,
  CHUNK_FIRST_PAIR,
  CHUNK_PAIR_COUNT,
  CHUNK_REMOTE_INDEX,
  CHUNK_SKIP,
  ENTRY_FLOATS,
  ENTRY_WORDS,
  PAIR_BYTES,
  PAIR_LOCAL_ADDR,
  REMOTE_LOCAL_DEVICE,
} from '../../../flow/request-layout.js';
import { COPY_DONE, COPY_PENDING } from '../../../gpu/staging-device.js';
import type { Channel } from './channel.js';
import { chunkWordOf } from './chunk-confirmed.hot.js';
import { FLIGHT_MASK } from './flight.js';
import { dropSlot, freeSentSlots, giveOut, renewHeld, takeOut } from './held-slots.hot.js';
import type { LaneCore, SessionLane } from './lane-core.js';
import {
  OPERATION_WRITE,
  TRANSFER_COPY_OUT_US,
  TRANSFER_FAILURE,
  TRANSFER_OPERATION,
  TRANSFER_PAIRS_AT,
  TRANSFER_REMOTES_AT,
  TRANSFER_SOURCE_DEVICE,
  TRANSFER_SOURCE_EVENT,
  transferFloat,
  transferWord,
} from './layout.js';
import type { OutCopies } from './out-copies.js';
import { dropServedCopies } from './served-copies.hot.js';
import { GIVEN_UP, NO_SLOT } from './stager.js';
import { onChunkAdded } from './staging-turn.hot.js';
import { confirmChunks, failTransfer } from './transfer-progress.hot.js';

/** Own chunks that hold a place in the window although no frame of them is on its way yet. */
export function stagedCount(channel: Channel): number {
  return (channel.copies.tail - channel.copies.head) | 0;
}

/** Whether chunks of the session's oldest transfer may be claimed: its source is ready. */
export function isSourceReady(core: LaneCore, channel: Channel, session: SessionLane): boolean {
  // One chunk may wait for a slot; more are better taken by a lane that has slots.
  if (channel.copies.started !== channel.copies.tail) return false;
  // What is sent again was ready once.
  if (session.retries.length > 0) return true;
  const slot = session.activeHead;
  const deviceWord = transferWord(core.transfersAt, slot, TRANSFER_SOURCE_DEVICE);
  const device = Atomics.load(core.int32, deviceWord);
  if (device === 0) return true;
  // What has failed is taken off the list by whoever claims next.
  if (core.int32[transferWord(core.transfersAt, slot, TRANSFER_FAILURE)] !== 0) return true;
  const stager = channel.stagers[device];
  if (stager === undefined) return true;
  const event = core.float64[transferFloat(core.transfersAt, slot, TRANSFER_SOURCE_EVENT)]!;
  const outcome = stager.device.pollEvent(event);
  if (outcome === COPY_PENDING) {
    core.staging.isPending = true;
    return false;
  }
  if (outcome !== COPY_DONE) failTransfer(core, slot, FAIL_DEVICE);
  // Every lane that asks finds the same, so that it does not matter who writes.
  Atomics.store(core.int32, deviceWord, 0);
  return true;
}

/** Takes a claimed chunk whose local half lies on a GPU; false: it is sent from where it lies. */
export function stageChunk(
  core: LaneCore,
  channel: Channel,
  slot: TransferSlot,
  chunk: ChunkIndex,
): boolean {
  const transfersAt = core.transfersAt;
  const operation = core.int32[transferWord(transfersAt, slot, TRANSFER_OPERATION)];
  if (operation !== OPERATION_WRITE) return false;
  const device = chunkDevice(core, slot, chunkWordOf(core, slot, chunk));
  if (device === 0) return false;
  const { copies } = channel;
  const at = copies.tail & FLIGHT_MASK;
  copies.device[at] = device;
  copies.transfer[at] = slot;
  copies.chunk[at] = chunk;
  copies.tail = (copies.tail + 1) | 0;
  channel.credit.addFlight(chunkBytes(core, slot, chunk));
  startChunks(core, channel);
  return true;
}

/** Where the local half of a chunk lies: 0 host memory, n + 1 GPU n. */
export function chunkDevice(core: LaneCore, slot: TransferSlot, chunkWord: number): number {
  const remotesAt = core.float64[transferFloat(core.transfersAt, slot, TRANSFER_REMOTES_AT)]!;
  const index = core.uint32[chunkWord + CHUNK_REMOTE_INDEX]!;
  const remote = (core.arenaAt + remotesAt) / 4 + index * ENTRY_WORDS;
  return core.uint32[remote + REMOTE_LOCAL_DEVICE]!;
}

function chunkBytes(core: LaneCore, slot: TransferSlot, chunk: ChunkIndex): number {
  return core.uint32[chunkWordOf(core, slot, chunk) + CHUNK_BYTES]!;
}

/** Begins the copies of claimed chunks, as far as there are slots. */
export function startChunks(core: LaneCore, channel: Channel): void {
  const { copies } = channel;
  while (copies.started !== copies.tail) {
    const at = copies.started & FLIGHT_MASK;
    const slot = copies.transfer[at]!;
    const isFailed = core.int32[transferWord(core.transfersAt, slot, TRANSFER_FAILURE)] !== 0;
    const taken = isFailed ? GIVEN_UP : takeOut(core, channel, copies.device[at]!);
    if (taken === NO_SLOT) return;
    copies.slot[at] = taken;
    if (taken >= 0) copyChunk(core, channel, at);
    copies.started = (copies.started + 1) | 0;
  }
}

function copyChunk(core: LaneCore, channel: Channel, at: number): void {
  const { copies } = channel;
  const pool = channel.stagers[copies.device[at]!]!.out;
  const taken = copies.slot[at]!;
  const slot = copies.transfer[at]!;
  const chunkWord = chunkWordOf(core, slot, copies.chunk[at]!);
  const floats = core.float64;
  const pairsAt = floats[transferFloat(core.transfersAt, slot, TRANSFER_PAIRS_AT)]!;
  const count = core.uint32[chunkWord + CHUNK_PAIR_COUNT]!;
  let pair =
    (core.arenaAt + pairsAt) / 8 + core.uint32[chunkWord + CHUNK_FIRST_PAIR]! * ENTRY_FLOATS;
  let skip = floats[chunkWord / 2 + CHUNK_SKIP]!;
  let left = core.uint32[chunkWord + CHUNK_BYTES]!;
  let offset = taken * pool.slotBytes;
  pool.batch[taken] = pool.queue.begin(count);
  pool.startedUs[taken] = core.nowUs;
  for (let index = 0; index < count; index++) {
    const available = floats[pair + PAIR_BYTES]! - skip;
    const bytes = available < left ? available : left;
    pool.queue.add(floats[pair + PAIR_LOCAL_ADDR]! + skip, offset, bytes);
    offset += bytes;
    left -= bytes;
    skip = 0;
    pair += ENTRY_FLOATS;
  }
  onChunkAdded(core, pool.queue);
}

/** Whether the chunk that was staged last lies in its slot already. */
export function isLastCopied(channel: Channel): boolean {
  const { copies } = channel;
  if (copies.head === copies.started || copies.started !== copies.tail) return false;
  const stager = channel.stagers[copies.device[(copies.started - 1) & FLIGHT_MASK]!];
  return stager !== undefined && stager.out.queue.isPrompt;
}

/**
 * The oldest chunk whose copy is done: address of its bytes, the chunk in copies.copied…; 0 when
 * none is. Chunks that cannot be copied are given up on the way.
 */
export function takeCopied(core: LaneCore, channel: Channel): number {
  const { copies } = channel;
  while (copies.head !== copies.started) {
    const at = copies.head & FLIGHT_MASK;
    const device = copies.device[at]!;
    const taken = copies.slot[at]!;
    const pool = taken >= 0 ? channel.stagers[device]!.out : undefined;
    const outcome = pool === undefined ? GIVEN_UP : pool.queue.poll(pool.batch[taken]!);
    if (outcome === COPY_PENDING) return 0;
    const slot = copies.transfer[at]!;
    copies.head = (copies.head + 1) | 0;
    channel.credit.dropFlight(chunkBytes(core, slot, copies.chunk[at]!));
    const failureWord = transferWord(core.transfersAt, slot, TRANSFER_FAILURE);
    if (pool !== undefined && outcome === COPY_DONE && core.int32[failureWord] === 0) {
      copies.copiedTransfer = slot;
      copies.copiedChunk = copies.chunk[at]!;
      addStageUs(core, slot, TRANSFER_COPY_OUT_US, core.nowUs - pool.startedUs[taken]!);
      copies.copiedDevice = device;
      copies.copiedSlot = taken;
      return pool.addr(taken);
    }
    if (pool !== undefined) giveOut(channel, device, taken);
    failTransfer(core, slot, FAIL_DEVICE); // the first reason stays
    confirmChunks(core, slot, 1);
  }
  return 0;
}

/** Microseconds, as a sum over chunks that wraps after 71 minutes. */
export function addStageUs(core: LaneCore, slot: TransferSlot, word: number, us: number): void {
  Atomics.add(core.int32, transferWord(core.transfersAt, slot, word), us | 0);
}

/**
 * The channel ends: waits for its copies out and gives every slot back. Own chunks that were
 * not framed stay between head and tail for takeUnframed.
 */
export function dropOut(channel: Channel): void {
  const { copies } = channel;
  freeSentSlots(channel);
  renewHeld(channel);
  for (let at = copies.head; at !== copies.started; at = (at + 1) | 0) {
    dropSlot(channel, copies.device[at & FLIGHT_MASK]!, copies.slot[at & FLIGHT_MASK]!);
  }
  dropServedCopies(channel);
}

/** After dropOut: the place of the oldest chunk that was claimed and not framed, or −1. */
export function takeUnframed(copies: OutCopies): number {
  if (copies.head === copies.tail) return -1;
  const at = copies.head & FLIGHT_MASK;
  copies.head = (copies.head + 1) | 0;
  return at;
}
