// Slots of chunks on their way out, from the copy until they are free again. Sent by reference, a
// slot stays until the peer has confirmed its chunk: until then the kernel, here or at a peer on
// the same host, may read it. Sent by copy, it is free once its vector was sent.
// A channel that ends leaves such references behind: its slots get other memory. So does a peer
// that lies, which is why a slot that was referred to gets other memory before another session.

import { assert } from '../../../base/assert.js';
import type { ByteCount } from '../../../base/quantity.js';
import type { Channel } from './channel.js';
import { FLIGHT_MASK } from './flight.js';
import type { HeldSlots } from './held-slots.js';
import type { LaneCore } from './lane-core.js';
import { HELD_BYTES_MIN } from './served-reads.js';
import { GIVEN_UP, NO_SLOT, type SlotPool } from './stager.js';

/** Slots that a channel may always hold, however many share the lane. */
const SHARE_MIN = 2;

/** Slots of the pool that one channel may hold. */
function slotShare(core: LaneCore, pool: SlotPool): number {
  const share = (pool.slotCount / core.channels.length) | 0;
  return share > SHARE_MIN ? share : SHARE_MIN;
}

/** A free slot of the GPU, NO_SLOT while there is none, GIVEN_UP where there never will be. */
export function takeOut(core: LaneCore, channel: Channel, device: number): number {
  const stager = channel.stagers[device];
  if (stager === undefined || stager.out.queue.isFailed) return GIVEN_UP;
  const { held } = channel;
  // A peer that takes nothing must not sit on every slot of the lane.
  if (held.outHeld >= slotShare(core, stager.out)) return NO_SLOT;
  const taken = stager.out.takeFor(core.sessions[channel.sessionIndex]!.number);
  if (taken >= 0) held.outHeld++;
  return taken;
}

export function giveOut(channel: Channel, device: number, slot: number): void {
  assert(channel.held.outHeld > 0, 'a slot that is given back was held');
  channel.stagers[device]!.out.give(slot);
  channel.held.outHeld--;
}

/**
 * The chunk that takeCopied has handed out was framed with this sequence, or given up. Decides how
 * it is sent and with that how long its slot stays.
 */
export function keepCopied(core: LaneCore, channel: Channel, sequence: number): void {
  const { held, copies } = channel;
  const device = copies.copiedDevice;
  const slot = copies.copiedSlot;
  if (channel.writes.next === sequence) {
    giveOut(channel, device, slot);
    return;
  }
  const isCopied = channel.vector.isCopied || held.vectorCount > 0;
  if (isCopied || !mayRefer(core, channel, channel.stagers[device]!.out)) {
    keepInVector(held, device, slot);
    return;
  }
  held.flightDevice[sequence & FLIGHT_MASK] = device;
  held.flightSlot[sequence & FLIGHT_MASK] = slot;
  refer(core, channel, device, slot);
}

function refer(core: LaneCore, channel: Channel, device: number, slot: number): void {
  const { reader } = channel.stagers[device]!.out;
  reader[slot] = core.sessions[channel.sessionIndex]!.number;
  channel.held.flightHeld++;
  channel.held.vectorHeld++;
}

/**
 * Whether the next copied chunk leaves as the slots that the vector has already. A vector goes by
 * reference as a whole or not at all: one that has to be copied waits for the next vector, or those
 * before it would be copied with it and held nevertheless.
 */
export function fitsVector(core: LaneCore, channel: Channel): boolean {
  const { copies } = channel;
  if (channel.held.vectorHeld === 0 || copies.head === copies.started) return true;
  const stager = channel.stagers[copies.device[copies.head & FLIGHT_MASK]!];
  return stager === undefined || mayRefer(core, channel, stager.out);
}

// With slots for a whole window all chunks go by reference. With fewer, half of the slots do, so
// that those in flight on a long path do not keep the others from being filled and sent. With too
// few for each session to have its own, a slot would need other memory for nearly every chunk.
function mayRefer(core: LaneCore, channel: Channel, pool: SlotPool): boolean {
  if (!channel.port.isByReference || !pool.queue.isRenewable) return false;
  const { length: count } = core.channels;
  const isShared = core.sessions[channel.sessionIndex]!.openChannels < count;
  if (isShared && count * SHARE_MIN > pool.slotCount) return false;
  const share = slotShare(core, pool);
  return share >= channel.windowChunks || channel.held.flightHeld < share >> 1;
}

/** Whether an answer of so many bytes may be sent from its slot by reference. */
function mayReferAnswer(
  core: LaneCore,
  channel: Channel,
  device: number,
  bytes: ByteCount,
): boolean {
  return bytes >= HELD_BYTES_MIN && mayRefer(core, channel, channel.stagers[device]!.out);
}

/** As fitsVector, for the answer of a read. */
export function fitsAnswer(
  core: LaneCore,
  channel: Channel,
  device: number,
  bytes: ByteCount,
): boolean {
  return channel.held.vectorHeld === 0 || mayReferAnswer(core, channel, device, bytes);
}

/**
 * The answer of a read was framed from this slot. True: it is sent by reference, and its slot stays
 * until the peer has confirmed the answer.
 */
export function keepAnswer(
  core: LaneCore,
  channel: Channel,
  device: number,
  slot: number,
  bytes: ByteCount,
): boolean {
  const { held } = channel;
  const isCopied = channel.vector.isCopied || held.vectorCount > 0;
  if (isCopied || !mayReferAnswer(core, channel, device, bytes)) {
    keepInVector(held, device, slot);
    return false;
  }
  refer(core, channel, device, slot);
  return true;
}

/** The slot is free again once the vector that it goes into was sent. */
function keepInVector(held: HeldSlots, device: number, slot: number): void {
  held.vectorDevice[held.vectorCount] = device;
  held.vectorSlot[held.vectorCount] = slot;
  held.vectorCount++;
}

/** The vector was sent, by copy where it had slots in this list. */
export function freeSentSlots(channel: Channel): void {
  const { held } = channel;
  held.vectorHeld = 0;
  for (let index = 0; index < held.vectorCount; index++) {
    giveOut(channel, held.vectorDevice[index]!, held.vectorSlot[index]!);
  }
  held.vectorCount = 0;
}

/** The peer has confirmed this own WRITE: it has taken every byte of it. */
export function freeConfirmedSlot(channel: Channel, flight: number): void {
  const { held } = channel;
  freeReferred(channel, held.flightDevice[flight]!, held.flightSlot[flight]!);
  held.flightSlot[flight] = NO_SLOT;
}

/** Nobody refers to the slot any more. */
export function freeReferred(channel: Channel, device: number, slot: number): void {
  assert(channel.held.flightHeld > 0, 'a slot that was referred to was held');
  giveOut(channel, device, slot);
  channel.held.flightHeld--;
}

/** The channel ends: whoever refers to the slot keeps its old memory. */
export function renewReferred(channel: Channel, device: number, slot: number): void {
  channel.stagers[device]!.out.giveAnew(slot);
  channel.held.flightHeld--;
  channel.held.outHeld--;
}

/** The channel ends: what it has in flight was not confirmed, and may be read for a long time. */
export function renewHeld(channel: Channel): void {
  const { held, writes } = channel;
  for (let at = writes.acked; at !== writes.next; at = (at + 1) | 0) {
    const flight = at & FLIGHT_MASK;
    const slot = held.flightSlot[flight]!;
    if (slot < 0) continue;
    renewReferred(channel, held.flightDevice[flight]!, slot);
    held.flightSlot[flight] = NO_SLOT;
  }
}

/** The channel ends while the slot is being filled. */
export function dropSlot(channel: Channel, device: number, slot: number): void {
  if (slot < 0) return;
  const { queue } = channel.stagers[device]!.out;
  // A batch that is still open would be started later, from memory that may be gone by then.
  queue.start();
  queue.finish();
  giveOut(channel, device, slot);
}
