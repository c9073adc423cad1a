// What has arrived in full and lands: at once in host memory, after a device copy in GPU memory.
// Acknowledgements are cumulative, so a frame behind one that is still being copied waits for it.

import { assert } from '../../../base/assert.js';
import { FAIL_CHECKSUM, FAIL_DEVICE, FAIL_PEER_DEVICE } from '../../../base/failure.js';
import { COPY_DONE, COPY_PENDING } from '../../../gpu/staging-device.js';
import { closeAccess } from '../../../memory/region-access.hot.js';
import { FRAME_WRITE } from '../../../wire/data-frame.js';
import type { Channel } from './channel.js';
import { giveBackFlight, onChunkConfirmed } from './chunk-confirmed.hot.js';
import { askAgain } from './damaged-chunk.hot.js';
import { FLIGHT_MASK } from './flight.js';
import { endSegments, setSegment, takeDamage, takeRegion } from './intake.hot.js';
import { NO_REGION } from './intake.js';
import {
  LAND_READ,
  LAND_READ_DAMAGED,
  LAND_READ_REFUSED,
  LAND_WRITE,
  type Landing,
} from './landing.js';
import type { LaneCore } from './lane-core.js';
import { TRANSFER_COPY_IN_US, TRANSFER_RECEIVE_US } from './layout.js';
import { addStageUs } from './out-copies.hot.js';
import { onReadAnswered, takeRead } from './own-reads.hot.js';
import { addRefusal, noteTransfer } from './refusals.hot.js';
import { NO_SLOT } from './stager.js';
import { startNow } from './staging-turn.hot.js';
import { confirmChunks, failTransfer } from './transfer-progress.hot.js';

// Whether a frame for GPU memory can be taken now.
export const SLOT_FREE = 1;
export const SLOT_NONE_YET = 0;
export const SLOT_NEVER = -1;

export function slotFor(channel: Channel, device: number): number {
  const stager = channel.stagers[device];
  // The command that opens the GPU was sent before anybody could name the region.
  if (stager === undefined) return SLOT_NONE_YET;
  if (stager.into.queue.isFailed) return SLOT_NEVER;
  return stager.into.freeCount > 0 ? SLOT_FREE : SLOT_NONE_YET;
}

/**
 * The segments name GPU memory: they become the blocks of a slot, and the slot the segment. `low`
 * and `high` name the peer's transfer.
 */
export function aimAtSlot(channel: Channel, device: number, low: number, high: number): void {
  const { landing, intake } = channel;
  const pool = channel.stagers[device]!.into;
  const taken = pool.take();
  assert(taken >= 0, 'a frame is aimed at a slot after slotFor has seen one');
  landing.frameDevice = device;
  landing.frameSlot = taken;
  landing.frameLow = low | 0;
  landing.frameHigh = high | 0;
  landing.blockCount = intake.segmentCount;
  for (let index = 0; index < intake.segmentCount; index++) {
    landing.blockAddr[index] = intake.segmentAddr[index]!;
    landing.blockBytes[index] = intake.segmentBytes[index]!;
  }
  setSegment(intake, 0, pool.addr(taken), intake.payloadLeft);
  endSegments(intake, 1);
}

/** The frame that was being received is complete in its slot, or in place. */
export function onArrived(core: LaneCore, channel: Channel): void {
  const { landing, intake } = channel;
  assert(intake.payloadLeft === 0, 'a frame has arrived with its last byte');
  const isWrite = intake.frameKind === FRAME_WRITE;
  const isDamaged = takeDamage(intake);
  if (isDamaged) dropFrameSlot(channel);
  if (isDamaged && isWrite) addRefusal(channel.refusals, intake.frameSequence, FAIL_CHECKSUM);
  if (isWrite) channel.arrivals.onArrived();
  else onReadAnswered(channel.reads);
  let region = takeRegion(intake);
  if (landing.frameSlot < 0) {
    if (region >= 0) closeAccess(core.regions, region);
    region = NO_REGION;
    if (landing.head === landing.tail) {
      if (isWrite) channel.arrivals.onLanded(core.ackDelayTurns);
      else onReadLanded(core, channel, isDamaged);
      return;
    }
  }
  const readKind = isDamaged ? LAND_READ_DAMAGED : LAND_READ;
  const at = pushLanding(landing, isWrite ? LAND_WRITE : readKind);
  landing.region[at] = region;
  landing.low[at] = landing.frameLow;
  landing.high[at] = landing.frameHigh;
  if (landing.frameSlot >= 0) copyIn(core, channel, at);
}

function dropFrameSlot(channel: Channel): void {
  const { landing } = channel;
  if (landing.frameSlot < 0) return;
  channel.stagers[landing.frameDevice]!.into.give(landing.frameSlot);
  landing.frameSlot = NO_SLOT;
}

function pushLanding(landing: Landing, kind: number): number {
  const at = landing.tail & FLIGHT_MASK;
  landing.tail = (landing.tail + 1) | 0;
  landing.kind[at] = kind;
  landing.slot[at] = NO_SLOT;
  landing.region[at] = NO_REGION;
  return at;
}

function copyIn(core: LaneCore, channel: Channel, at: number): void {
  const { landing } = channel;
  const taken = landing.frameSlot;
  const pool = channel.stagers[landing.frameDevice]!.into;
  landing.device[at] = landing.frameDevice;
  landing.slot[at] = taken;
  landing.frameSlot = NO_SLOT;
  let offset = taken * pool.slotBytes;
  pool.batch[taken] = pool.queue.begin(landing.blockCount);
  pool.startedUs[taken] = core.nowUs;
  for (let index = 0; index < landing.blockCount; index++) {
    pool.queue.add(landing.blockAddr[index]!, offset, landing.blockBytes[index]!);
    offset += landing.blockBytes[index]!;
  }
  // Started at the end of the turn, with what else has come by then: a call less for each of them.
  if (!pool.queue.isPrompt) return;
  // Copied here the bytes are still in the core's cache, and the next chunk gets the same slot.
  startNow(core, pool.queue);
  landFrames(core, channel);
}

/** A read that the peer refused takes its turn among those that are being copied. */
export function onReadRefused(core: LaneCore, channel: Channel, reason: number): void {
  const { landing } = channel;
  onReadAnswered(channel.reads);
  if (landing.head === landing.tail) {
    failRead(core, channel, reason);
    return;
  }
  landing.low[pushLanding(landing, LAND_READ_REFUSED)] = reason;
}

/** Counts what has landed meanwhile; 1 when something has. */
export function landFrames(core: LaneCore, channel: Channel): number {
  const { landing } = channel;
  let landed = 0;
  while (landing.head !== landing.tail) {
    const at = landing.head & FLIGHT_MASK;
    const taken = landing.slot[at]!;
    let outcome = COPY_DONE;
    let copyUs = 0;
    if (taken >= 0) {
      const pool = channel.stagers[landing.device[at]!]!.into;
      outcome = pool.queue.poll(pool.batch[taken]!);
      if (outcome === COPY_PENDING) return landed;
      copyUs = core.nowUs - pool.startedUs[taken]!;
      pool.give(taken);
    }
    landing.head = (landing.head + 1) | 0;
    if (landing.region[at]! >= 0) closeAccess(core.regions, landing.region[at]!);
    land(core, channel, at, outcome === COPY_DONE, copyUs);
    landed = 1;
  }
  return landed;
}

function land(
  core: LaneCore,
  channel: Channel,
  at: number,
  isCopied: boolean,
  copyUs: number,
): void {
  const { landing } = channel;
  const kind = landing.kind[at]!;
  if (kind === LAND_WRITE) {
    if (!isCopied) refuseLanded(channel, at);
    landing.copiedUs = (landing.copiedUs + copyUs) | 0;
    channel.arrivals.onLanded(core.ackDelayTurns);
  } else if (kind === LAND_READ_REFUSED) {
    failRead(core, channel, landing.low[at]!);
  } else if (!isCopied) {
    failRead(core, channel, FAIL_DEVICE);
  } else {
    const slot = channel.reads.transfer[channel.reads.done & FLIGHT_MASK]!;
    addStageUs(core, slot, TRANSFER_COPY_IN_US, copyUs);
    addStageUs(core, slot, TRANSFER_RECEIVE_US, -copyUs);
    onReadLanded(core, channel, kind === LAND_READ_DAMAGED);
  }
}

// It counts as landed like every refused write; its notification must not be delivered.
function refuseLanded(channel: Channel, at: number): void {
  const { landing, refusals } = channel;
  noteTransfer(refusals, landing.low[at]! >>> 0, landing.high[at]! >>> 0);
  addRefusal(refusals, channel.arrivals.landed, FAIL_PEER_DEVICE);
}

function onReadLanded(core: LaneCore, channel: Channel, isDamaged: boolean): void {
  const { reads } = channel;
  const flight = takeRead(reads);
  const slot = reads.transfer[flight]!;
  const chunk = reads.chunk[flight]!;
  if (isDamaged) {
    giveBackFlight(core, channel, slot, chunk);
    askAgain(core, channel, slot, chunk);
    return;
  }
  if (chunk < 0) {
    confirmChunks(core, slot, 1);
    return;
  }
  onChunkConfirmed(core, channel, slot, chunk, reads.sentUs[flight]!, reads.deliveredAt[flight]!);
  confirmChunks(core, slot, 1);
}

function failRead(core: LaneCore, channel: Channel, reason: number): void {
  const { reads } = channel;
  const flight = takeRead(reads);
  const slot = reads.transfer[flight]!;
  giveBackFlight(core, channel, slot, reads.chunk[flight]!);
  failTransfer(core, slot, reason);
  confirmChunks(core, slot, 1);
}

/** Waits for the channel's copies into GPU memory and counts what they made land. */
export function finishLanding(core: LaneCore, channel: Channel): void {
  const { landing } = channel;
  for (let at = landing.head; at !== landing.tail; at = (at + 1) | 0) {
    if (landing.slot[at & FLIGHT_MASK]! < 0) continue;
    const { queue } = channel.stagers[landing.device[at & FLIGHT_MASK]!]!.into;
    queue.start();
    queue.finish();
  }
  landFrames(core, channel);
}

/** The channel ends: nothing is copied for it any more, and its slots are free. */
export function dropIn(core: LaneCore, channel: Channel): void {
  finishLanding(core, channel);
  dropOrphans(core, channel);
  dropFrameSlot(channel);
}

// Nobody hears of these frames: whose memory they were for is gone, and so is the session, soon.
function dropOrphans(core: LaneCore, channel: Channel): void {
  const { landing } = channel;
  for (; landing.head !== landing.tail; landing.head = (landing.head + 1) | 0) {
    const at = landing.head & FLIGHT_MASK;
    const taken = landing.slot[at]!;
    if (taken >= 0) channel.stagers[landing.device[at]!]!.into.give(taken);
    if (landing.region[at]! >= 0) closeAccess(core.regions, landing.region[at]!);
  }
}
