// Slots of chunks on their way out, from the copy until they are free again. Sent by reference, a
// slot stays until the peer has confirmed its chunk: until then the kernel, here or at a peer on
// the same host, may read it. Sent by copy, it is free once its vector was sent.
// A channel that ends leaves such references behind: its slots get other memory.

import type { Channel } from './channel.js';
import { NO_SLOT } from './channel-staging.js';
import { FLIGHT_MASK } from './flight.js';
import type { LaneCore } from './lane-core.js';
import type { SlotPool } from './stager.js';

/** Slots that a channel may always hold, however many share the lane. */
const SHARE_MIN = 2;

/** Slots of the pool that one channel may hold. */
export function slotShare(core: LaneCore, pool: SlotPool): number {
  const share = (pool.slotCount / core.channels.length) | 0;
  return share > SHARE_MIN ? share : SHARE_MIN;
}

export function giveOut(channel: Channel, device: number, slot: number): void {
  channel.stage.stagers[device]!.out.give(slot);
  channel.stage.outHeld--;
}

/**
 * The chunk that takeCopied has handed out was framed with this sequence, or given up. Decides how
 * it is sent and with that how long its slot stays.
 */
export function keepCopied(core: LaneCore, channel: Channel, sequence: number): void {
  const stage = channel.stage;
  const device = stage.copiedDevice;
  const slot = stage.copiedSlot;
  if (channel.writeNext === sequence) {
    giveOut(channel, device, slot);
    return;
  }
  const isCopied = channel.isVectorCopied || stage.vectorCount > 0;
  if (isCopied || !mayRefer(core, channel, stage.stagers[device]!.out)) {
    keepInVector(channel, device, slot);
    return;
  }
  stage.flightDevice[sequence & FLIGHT_MASK] = device;
  stage.flightSlot[sequence & FLIGHT_MASK] = slot;
  stage.flightHeld++;
  stage.vectorHeld++;
}

/**
 * Whether the next copied chunk leaves as the slots that the vector has already. A vector goes by
 * reference as a whole or not at all: one that has to be copied waits for the next vector, or those
 * before it would be copied with it and held nevertheless.
 */
export function fitsVector(core: LaneCore, channel: Channel): boolean {
  const stage = channel.stage;
  if (stage.vectorHeld === 0 || stage.outHead === stage.outStarted) return true;
  const stager = stage.stagers[stage.outDevice[stage.outHead & FLIGHT_MASK]!];
  return stager === undefined || mayRefer(core, channel, stager.out);
}

// With slots for a whole window all chunks go by reference. With fewer, half of the slots do, so
// that those in flight on a long path do not keep the others from being filled and sent.
function mayRefer(core: LaneCore, channel: Channel, pool: SlotPool): boolean {
  if (!channel.port.isByReference || !pool.queue.isRenewable) return false;
  const share = slotShare(core, pool);
  return share >= channel.windowChunks || channel.stage.flightHeld < share >> 1;
}

/** The slot is free again once the vector that it goes into was sent. */
export function keepInVector(channel: Channel, device: number, slot: number): void {
  const stage = channel.stage;
  stage.vectorDevice[stage.vectorCount] = device;
  stage.vectorSlot[stage.vectorCount] = slot;
  stage.vectorCount++;
}

/** The vector was sent, by copy where it had slots in this list. */
export function freeSentSlots(channel: Channel): void {
  const stage = channel.stage;
  stage.vectorHeld = 0;
  for (let index = 0; index < stage.vectorCount; index++) {
    giveOut(channel, stage.vectorDevice[index]!, stage.vectorSlot[index]!);
  }
  stage.vectorCount = 0;
}

/** The peer has confirmed this own WRITE: it has taken every byte of it. */
export function freeConfirmedSlot(channel: Channel, flight: number): void {
  const stage = channel.stage;
  giveOut(channel, stage.flightDevice[flight]!, stage.flightSlot[flight]!);
  stage.flightSlot[flight] = NO_SLOT;
  stage.flightHeld--;
}

/** The channel ends: what it has in flight was not confirmed, and may be read for a long time. */
export function renewHeld(channel: Channel): void {
  const stage = channel.stage;
  for (let at = channel.writeAcked; at !== channel.writeNext; at = (at + 1) | 0) {
    const flight = at & FLIGHT_MASK;
    const slot = stage.flightSlot[flight]!;
    if (slot < 0) continue;
    stage.stagers[stage.flightDevice[flight]!]!.out.giveAnew(slot);
    stage.flightSlot[flight] = NO_SLOT;
    stage.flightHeld--;
    stage.outHeld--;
  }
}
