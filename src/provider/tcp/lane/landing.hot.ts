// What has arrived in full and lands: at once in host memory, after a device copy in GPU memory.
// Acknowledgements are cumulative, so a frame behind one that is still being copied waits for it.

import { closeAccess } from '../../../memory/region-access.hot.js';
import { COPY_DONE, COPY_PENDING } from '../../../gpu/staging-device.js';
import { FRAME_WRITE, REFUSE_CHECKSUM, REFUSE_DEVICE } from '../../../wire/data-frame.js';
import { type Channel, NO_CHECKSUM } from './channel.js';
import {
  LAND_READ,
  LAND_READ_DAMAGED,
  LAND_READ_REFUSED,
  LAND_WRITE,
  NO_SLOT,
} from './channel-staging.js';
import { giveBackFlight, onChunkConfirmed } from './chunk-confirmed.hot.js';
import { askAgain } from './damaged-chunk.hot.js';
import { FLIGHT_MASK } from './flight.js';
import type { LaneCore } from './lane-core.js';
import { FAIL_DEVICE, TRANSFER_COPY_IN_US, TRANSFER_RECEIVE_US } from './layout.js';
import { addStageUs } from './staging-send.hot.js';
import { confirmChunks, failTransfer } from './transfer-progress.hot.js';

// Whether a frame for GPU memory can be taken now.
export const SLOT_FREE = 1;
export const SLOT_NONE_YET = 0;
export const SLOT_NEVER = -1;

export function slotFor(channel: Channel, device: number): number {
  const stager = channel.stage.stagers[device];
  // The command that opens the GPU was sent before anybody could name the region.
  if (stager === undefined) return SLOT_NONE_YET;
  if (stager.into.queue.isFailed) return SLOT_NEVER;
  return stager.into.freeCount > 0 ? SLOT_FREE : SLOT_NONE_YET;
}

/** The segments name GPU memory: they become the blocks of a slot, and the slot the segment. */
export function aimAtSlot(channel: Channel, device: number, low: number, high: number): void {
  const stage = channel.stage;
  const pool = stage.stagers[device]!.into;
  const taken = pool.take();
  stage.frameDevice = device;
  stage.frameSlot = taken;
  stage.frameLow = low;
  stage.frameHigh = high;
  stage.blockCount = channel.segmentCount;
  for (let index = 0; index < channel.segmentCount; index++) {
    stage.blockAddr[index] = channel.segmentAddr[index]!;
    stage.blockBytes[index] = channel.segmentBytes[index]!;
  }
  channel.segmentAddr[0] = pool.addr(taken);
  channel.segmentBytes[0] = channel.payloadLeft;
  channel.segmentIndex = 0;
  channel.segmentCount = 1;
}

/** The frame that was being received is complete in its slot, or in place. */
export function onArrived(core: LaneCore, channel: Channel): void {
  const stage = channel.stage;
  const isWrite = channel.frameKind === FRAME_WRITE;
  const isDamaged = takeDamage(channel);
  if (isDamaged) dropFrameSlot(channel);
  if (isDamaged && isWrite) addRefusal(channel, channel.frameSequence, REFUSE_CHECKSUM);
  if (isWrite) channel.arrived = (channel.arrived + 1) | 0;
  else channel.readArrived = (channel.readArrived + 1) | 0;
  if (stage.frameSlot < 0) {
    if (channel.frameRegion >= 0) closeAccess(core.regions, channel.frameRegion);
    channel.frameRegion = -1;
    if (stage.landHead === stage.landTail) {
      if (isWrite) onLanded(core, channel);
      else onReadLanded(core, channel, isDamaged);
      return;
    }
  }
  const readKind = isDamaged ? LAND_READ_DAMAGED : LAND_READ;
  const at = pushLanding(channel, isWrite ? LAND_WRITE : readKind);
  stage.landRegion[at] = channel.frameRegion;
  stage.landLow[at] = stage.frameLow;
  stage.landHigh[at] = stage.frameHigh;
  channel.frameRegion = -1;
  if (stage.frameSlot >= 0) copyIn(core, channel, at);
}

// Whether the payload that has just arrived is not what its owner sent.
function takeDamage(channel: Channel): boolean {
  const expected = channel.frameChecksum;
  channel.frameChecksum = NO_CHECKSUM;
  return expected >= 0 && channel.receivedChecksum !== expected;
}

function dropFrameSlot(channel: Channel): void {
  const stage = channel.stage;
  if (stage.frameSlot < 0) return;
  stage.stagers[stage.frameDevice]!.into.give(stage.frameSlot);
  stage.frameSlot = NO_SLOT;
}

function pushLanding(channel: Channel, kind: number): number {
  const stage = channel.stage;
  const at = stage.landTail & FLIGHT_MASK;
  stage.landTail = (stage.landTail + 1) | 0;
  stage.landKind[at] = kind;
  stage.landSlot[at] = NO_SLOT;
  stage.landRegion[at] = -1;
  return at;
}

function copyIn(core: LaneCore, channel: Channel, at: number): void {
  const stage = channel.stage;
  const taken = stage.frameSlot;
  const pool = stage.stagers[stage.frameDevice]!.into;
  stage.landDevice[at] = stage.frameDevice;
  stage.landSlot[at] = taken;
  stage.frameSlot = NO_SLOT;
  let offset = taken * pool.slotBytes;
  pool.batch[taken] = pool.queue.begin(stage.blockCount);
  pool.startedUs[taken] = core.nowUs;
  for (let index = 0; index < stage.blockCount; index++) {
    pool.queue.add(stage.blockAddr[index]!, offset, stage.blockBytes[index]!);
    offset += stage.blockBytes[index]!;
  }
  // Started at the end of the turn, with what else has come by then: a call less for each of them.
}

/** A read that the peer refused takes its turn among those that are being copied. */
export function onReadRefused(core: LaneCore, channel: Channel, reason: number): void {
  const stage = channel.stage;
  channel.readArrived = (channel.readArrived + 1) | 0;
  if (stage.landHead === stage.landTail) {
    failRead(core, channel, reason);
    return;
  }
  stage.landLow[pushLanding(channel, LAND_READ_REFUSED)] = reason;
}

/** Counts what has landed meanwhile; 1 when something has. */
export function landFrames(core: LaneCore, channel: Channel): number {
  const stage = channel.stage;
  let landed = 0;
  while (stage.landHead !== stage.landTail) {
    const at = stage.landHead & FLIGHT_MASK;
    const taken = stage.landSlot[at]!;
    let outcome = COPY_DONE;
    let copyUs = 0;
    if (taken >= 0) {
      const pool = stage.stagers[stage.landDevice[at]!]!.into;
      outcome = pool.queue.poll(pool.batch[taken]!);
      if (outcome === COPY_PENDING) return landed;
      copyUs = core.nowUs - pool.startedUs[taken]!;
      pool.give(taken);
    }
    stage.landHead = (stage.landHead + 1) | 0;
    if (stage.landRegion[at]! >= 0) closeAccess(core.regions, stage.landRegion[at]!);
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
  const stage = channel.stage;
  const kind = stage.landKind[at]!;
  if (kind === LAND_WRITE) {
    if (!isCopied) refuseLanded(channel, at);
    onLanded(core, channel);
  } else if (kind === LAND_READ_REFUSED) {
    failRead(core, channel, stage.landLow[at]!);
  } else if (!isCopied) {
    failRead(core, channel, FAIL_DEVICE);
  } else {
    const slot = channel.readTransfer[channel.readDone & FLIGHT_MASK]!;
    addStageUs(core, slot, TRANSFER_COPY_IN_US, copyUs);
    addStageUs(core, slot, TRANSFER_RECEIVE_US, -copyUs);
    onReadLanded(core, channel, kind === LAND_READ_DAMAGED);
  }
}

// It counts as landed like every refused write; its notification must not be delivered.
function refuseLanded(channel: Channel, at: number): void {
  channel.refusedTransferLow = channel.stage.landLow[at]! >>> 0;
  channel.refusedTransferHigh = channel.stage.landHigh[at]! >>> 0;
  addRefusal(channel, channel.landed, REFUSE_DEVICE);
}

/** Refusals wait in the order of their sequences. */
export function addRefusal(channel: Channel, sequence: number, reason: number): void {
  let index = channel.refuseCount;
  while (index > 0 && ((channel.refuseSequence[index - 1]! - sequence) | 0) > 0) {
    channel.refuseSequence[index] = channel.refuseSequence[index - 1]!;
    channel.refuseReason[index] = channel.refuseReason[index - 1]!;
    index--;
  }
  channel.refuseSequence[index] = sequence;
  channel.refuseReason[index] = reason;
  channel.refuseCount++;
  const logged = channel.refusedCount & FLIGHT_MASK;
  channel.refusedReason[logged] = reason;
  channel.refusedSequence[logged] = sequence;
  channel.refusedCount = (channel.refusedCount + 1) | 0;
}

/** A write or a notification is complete at its place. */
export function onLanded(core: LaneCore, channel: Channel): void {
  channel.landed = (channel.landed + 1) | 0;
  channel.ackDelayTurns = core.ackDelayTurns;
}

function onReadLanded(core: LaneCore, channel: Channel, isDamaged: boolean): void {
  const flight = channel.readDone & FLIGHT_MASK;
  channel.readDone = (channel.readDone + 1) | 0;
  const slot = channel.readTransfer[flight]!;
  const chunk = channel.readChunk[flight]!;
  if (isDamaged) {
    giveBackFlight(core, channel, slot, chunk);
    askAgain(core, channel, slot, chunk);
    return;
  }
  if (chunk < 0) {
    confirmChunks(core, slot, 1);
    return;
  }
  const sentUs = channel.readSentUs[flight]!;
  onChunkConfirmed(core, channel, slot, chunk, sentUs, channel.readDeliveredAt[flight]!);
  confirmChunks(core, slot, 1);
}

function failRead(core: LaneCore, channel: Channel, reason: number): void {
  const flight = channel.readDone & FLIGHT_MASK;
  const slot = channel.readTransfer[flight]!;
  giveBackFlight(core, channel, slot, channel.readChunk[flight]!);
  channel.readDone = (channel.readDone + 1) | 0;
  failTransfer(core, slot, reason);
  confirmChunks(core, slot, 1);
}

/** Waits for the channel's copies into GPU memory and counts what they made land. */
export function finishLanding(core: LaneCore, channel: Channel): void {
  const stage = channel.stage;
  for (let at = stage.landHead; at !== stage.landTail; at = (at + 1) | 0) {
    if (stage.landSlot[at & FLIGHT_MASK]! < 0) continue;
    const { queue } = stage.stagers[stage.landDevice[at & FLIGHT_MASK]!]!.into;
    queue.start();
    queue.finish();
  }
  landFrames(core, channel);
}

/** The channel ends: nothing is copied for it any more, and its slots are free. */
export function dropIn(core: LaneCore, channel: Channel): void {
  finishLanding(core, channel);
  dropFrameSlot(channel);
}
