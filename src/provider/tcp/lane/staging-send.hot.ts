// From GPU memory to the socket: chunks are claimed, copied into pinned slots ahead of the socket,
// framed when their copy is done, and their slots are free again once the bytes are sent, or, sent
// by reference, confirmed (held-slots). The same slots carry the answers to a peer's reads.

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
import { closeAccess } from '../../../memory/region-access.hot.js';
import { regionDevice } from '../../../memory/region-table.js';
import { COPY_DONE, COPY_PENDING } from '../../../gpu/staging-device.js';
import { REFUSE_DEVICE, TABLE_ENTRIES_MAX } from '../../../wire/data-frame.js';
import type { Channel } from './channel.js';
import { GIVEN_UP, NO_SLOT } from './channel-staging.js';
import { chunkWordOf } from './chunk-confirmed.hot.js';
import { FLIGHT_MASK } from './flight.js';
import { freeSentSlots, giveOut, keepInVector, renewHeld, slotShare } from './held-slots.hot.js';
import type { LaneCore, SessionLane } from './lane-core.js';
import {
  FAIL_DEVICE,
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
import { onChunkAdded } from './staging-turn.hot.js';
import { confirmChunks, failTransfer } from './transfer-progress.hot.js';

/** Own chunks that hold a place in the window although no frame of them is on its way yet. */
export function stagedCount(channel: Channel): number {
  return (channel.stage.outTail - channel.stage.outHead) | 0;
}

/** Whether chunks of the session's oldest transfer may be claimed: its source is ready. */
export function isSourceReady(core: LaneCore, channel: Channel, session: SessionLane): boolean {
  // One chunk may wait for a slot; more are better taken by a lane that has slots.
  if (channel.stage.outStarted !== channel.stage.outTail) return false;
  // What is sent again was ready once.
  if (session.retries.length > 0) return true;
  const slot = session.activeHead;
  const deviceWord = transferWord(core.transfersAt, slot, TRANSFER_SOURCE_DEVICE);
  const device = Atomics.load(core.int32, deviceWord);
  if (device === 0) return true;
  // What has failed is taken off the list by whoever claims next.
  if (core.int32[transferWord(core.transfersAt, slot, TRANSFER_FAILURE)] !== 0) return true;
  const stager = channel.stage.stagers[device];
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
export function stageChunk(core: LaneCore, channel: Channel, slot: number, chunk: number): boolean {
  const transfersAt = core.transfersAt;
  const operation = core.int32[transferWord(transfersAt, slot, TRANSFER_OPERATION)];
  if (operation !== OPERATION_WRITE) return false;
  const device = chunkDevice(core, slot, chunkWordOf(core, slot, chunk));
  if (device === 0) return false;
  const stage = channel.stage;
  const at = stage.outTail & FLIGHT_MASK;
  stage.outDevice[at] = device;
  stage.outTransfer[at] = slot;
  stage.outChunk[at] = chunk;
  stage.outTail = (stage.outTail + 1) | 0;
  channel.flightBytes += chunkBytes(core, slot, chunk);
  startChunks(core, channel);
  return true;
}

/** Where the local half of a chunk lies: 0 host memory, n + 1 GPU n. */
export function chunkDevice(core: LaneCore, slot: number, chunkWord: number): number {
  const remotesAt = core.float64[transferFloat(core.transfersAt, slot, TRANSFER_REMOTES_AT)]!;
  const index = core.uint32[chunkWord + CHUNK_REMOTE_INDEX]!;
  const remote = (core.arenaAt + remotesAt) / 4 + index * ENTRY_WORDS;
  return core.uint32[remote + REMOTE_LOCAL_DEVICE]!;
}

function chunkBytes(core: LaneCore, slot: number, chunk: number): number {
  return core.uint32[chunkWordOf(core, slot, chunk) + CHUNK_BYTES]!;
}

/** Begins the copies of claimed chunks, as far as there are slots. */
export function startChunks(core: LaneCore, channel: Channel): void {
  const stage = channel.stage;
  while (stage.outStarted !== stage.outTail) {
    const at = stage.outStarted & FLIGHT_MASK;
    const slot = stage.outTransfer[at]!;
    const isFailed = core.int32[transferWord(core.transfersAt, slot, TRANSFER_FAILURE)] !== 0;
    const taken = isFailed ? GIVEN_UP : takeOut(core, channel, stage.outDevice[at]!);
    if (taken === NO_SLOT) return;
    stage.outSlot[at] = taken;
    if (taken >= 0) copyChunk(core, channel, at);
    stage.outStarted = (stage.outStarted + 1) | 0;
  }
}

// A free slot of the GPU, NO_SLOT while there is none, GIVEN_UP where there never will be.
function takeOut(core: LaneCore, channel: Channel, device: number): number {
  const stager = channel.stage.stagers[device];
  if (stager === undefined || stager.out.queue.isFailed) return GIVEN_UP;
  const pool = stager.out;
  // A peer that takes nothing must not sit on every slot of the lane.
  if (channel.stage.outHeld >= slotShare(core, pool)) return NO_SLOT;
  const taken = pool.take();
  if (taken >= 0) channel.stage.outHeld++;
  return taken;
}

function copyChunk(core: LaneCore, channel: Channel, at: number): void {
  const stage = channel.stage;
  const pool = stage.stagers[stage.outDevice[at]!]!.out;
  const taken = stage.outSlot[at]!;
  const slot = stage.outTransfer[at]!;
  const chunkWord = chunkWordOf(core, slot, stage.outChunk[at]!);
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

/**
 * The oldest chunk whose copy is done: address of its bytes, the chunk in stage.copied…; 0 when
 * none is. Chunks that cannot be copied are given up on the way.
 */
export function takeCopied(core: LaneCore, channel: Channel): number {
  const stage = channel.stage;
  while (stage.outHead !== stage.outStarted) {
    const at = stage.outHead & FLIGHT_MASK;
    const device = stage.outDevice[at]!;
    const taken = stage.outSlot[at]!;
    const pool = taken >= 0 ? stage.stagers[device]!.out : undefined;
    const outcome = pool === undefined ? GIVEN_UP : pool.queue.poll(pool.batch[taken]!);
    if (outcome === COPY_PENDING) return 0;
    const slot = stage.outTransfer[at]!;
    stage.outHead = (stage.outHead + 1) | 0;
    channel.flightBytes -= chunkBytes(core, slot, stage.outChunk[at]!);
    const failureWord = transferWord(core.transfersAt, slot, TRANSFER_FAILURE);
    if (pool !== undefined && outcome === COPY_DONE && core.int32[failureWord] === 0) {
      stage.copiedTransfer = slot;
      stage.copiedChunk = stage.outChunk[at]!;
      addStageUs(core, slot, TRANSFER_COPY_OUT_US, core.nowUs - pool.startedUs[taken]!);
      stage.copiedDevice = device;
      stage.copiedSlot = taken;
      return pool.addr(taken);
    }
    if (pool !== undefined) giveOut(channel, device, taken);
    failTransfer(core, slot, FAIL_DEVICE); // the first reason stays
    confirmChunks(core, slot, 1);
  }
  return 0;
}

/** Microseconds, as a sum over chunks that wraps after 71 minutes. */
export function addStageUs(core: LaneCore, slot: number, word: number, us: number): void {
  Atomics.add(core.int32, transferWord(core.transfersAt, slot, word), us | 0);
}

/** Begins the copies for reads of the peer that have come, as far as there are slots. */
export function startServes(core: LaneCore, channel: Channel): void {
  const stage = channel.stage;
  while (stage.serveStarted !== channel.serveTail) {
    const at = stage.serveStarted & FLIGHT_MASK;
    const region = channel.serveRegion[at]!;
    const device = region < 0 ? 0 : regionDevice(core.regions, region);
    stage.serveDevice[at] = device;
    const taken = device === 0 ? NO_SLOT : takeOut(core, channel, device);
    if (device !== 0 && taken === NO_SLOT) return;
    stage.serveSlot[at] = taken;
    if (taken >= 0) copyServe(core, channel, at);
    stage.serveStarted = (stage.serveStarted + 1) | 0;
  }
}

function copyServe(core: LaneCore, channel: Channel, at: number): void {
  const stage = channel.stage;
  const pool = stage.stagers[stage.serveDevice[at]!]!.out;
  const taken = stage.serveSlot[at]!;
  const floats = channel.serveMemory.float64;
  const count = channel.serveSegments[at]!;
  const base = at * TABLE_ENTRIES_MAX * 2;
  let offset = taken * pool.slotBytes;
  pool.batch[taken] = pool.queue.begin(count);
  pool.startedUs[taken] = core.nowUs;
  for (let index = 0; index < count; index++) {
    const bytes = floats[base + index * 2 + 1]!;
    pool.queue.add(floats[base + index * 2]!, offset, bytes);
    offset += bytes;
  }
  onChunkAdded(core, pool.queue);
}

/** Whether the oldest read of the peer can be answered; one that cannot ever becomes a refusal. */
export function isServeReady(core: LaneCore, channel: Channel): boolean {
  const stage = channel.stage;
  if (channel.serveFramed === stage.serveStarted) return false;
  const at = channel.serveFramed & FLIGHT_MASK;
  const taken = stage.serveSlot[at]!;
  if (taken === NO_SLOT) return true;
  const device = stage.serveDevice[at]!;
  if (taken >= 0) {
    const pool = stage.stagers[device]!.out;
    const outcome = pool.queue.poll(pool.batch[taken]!);
    if (outcome === COPY_PENDING) return false;
    if (outcome === COPY_DONE) return true;
    giveOut(channel, device, taken);
  }
  closeAccess(core.regions, channel.serveRegion[at]!);
  channel.serveRegion[at] = -1;
  channel.serveSegments[at] = REFUSE_DEVICE;
  stage.serveSlot[at] = NO_SLOT;
  return true;
}

/** Where the bytes of the read that is framed now lie; 0: in the region itself. */
export function servedAddr(channel: Channel, at: number): number {
  const stage = channel.stage;
  const taken = stage.serveSlot[at]!;
  if (taken < 0) return 0;
  const device = stage.serveDevice[at]!;
  keepInVector(channel, device, taken);
  return stage.stagers[device]!.out.addr(taken);
}

/**
 * The channel ends: waits for its copies out and gives every slot back. Own chunks that were
 * not framed stay between outHead and outTail for whoever ends the channel.
 */
export function dropOut(channel: Channel): void {
  const stage = channel.stage;
  freeSentSlots(channel);
  renewHeld(channel);
  for (let at = stage.outHead; at !== stage.outStarted; at = (at + 1) | 0) {
    dropSlot(channel, stage.outDevice[at & FLIGHT_MASK]!, stage.outSlot[at & FLIGHT_MASK]!);
  }
  for (let at = channel.serveFramed; at !== stage.serveStarted; at = (at + 1) | 0) {
    dropSlot(channel, stage.serveDevice[at & FLIGHT_MASK]!, stage.serveSlot[at & FLIGHT_MASK]!);
  }
}

function dropSlot(channel: Channel, device: number, slot: number): void {
  if (slot < 0) return;
  const { queue } = channel.stage.stagers[device]!.out;
  // A batch that is still open would be started later, from memory that may be gone by then.
  queue.start();
  queue.finish();
  giveOut(channel, device, slot);
}
