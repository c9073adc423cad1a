// The flight of own WRITE, NOTIFY and SIGNAL frames: framed, refused, confirmed in order.

import { assert } from '../../../base/assert.js';
import type { ChunkIndex, TransferSlot } from '../../../base/quantity.js';
import type { Channel } from './channel.js';
import { FLIGHT_MASK, NO_TRANSFER } from './flight.js';
import type { LaneCore } from './lane-core.js';
import type { OwnWrites } from './own-writes.js';

/** The frame that was just put into the vector takes the next place. */
export function addWrite(
  core: LaneCore,
  channel: Channel,
  slot: TransferSlot,
  chunk: ChunkIndex,
): void {
  const { writes, vector } = channel;
  const flight = writes.next & FLIGHT_MASK;
  writes.transfer[flight] = slot;
  writes.chunk[flight] = chunk;
  writes.endAt[flight] = vector.sentBytes + vector.bytes;
  writes.sentUs[flight] = core.nowUs;
  writes.deliveredAt[flight] = channel.credit.deliveredBytes;
  writes.next = (writes.next + 1) | 0;
}

/** The oldest one leaves; its place, which still says what it was. */
export function takeWrite(writes: OwnWrites): number {
  const { acked } = writes;
  writes.acked = (acked + 1) | 0;
  return acked & FLIGHT_MASK;
}

/** In place of the chunk: FLIGHT_AGAIN, FLIGHT_REFUSED or FLIGHT_HELD. */
export function markWrite(writes: OwnWrites, flight: number, mark: number): void {
  assert(writes.chunk[flight]! > mark, 'a chunk or a notification is marked once');
  writes.chunk[flight] = mark;
}

/** A signal that goes elsewhere: nothing is owed for it here. */
export function disownWrite(writes: OwnWrites, flight: number): void {
  writes.transfer[flight] = NO_TRANSFER;
}

/** Whether `sequence` is one of those in flight. */
export function isWriteInFlight(writes: OwnWrites, sequence: number): boolean {
  const behind = (sequence - writes.acked) | 0;
  return behind >= 0 && behind < ((writes.next - writes.acked) | 0);
}

/**
 * Whether all of an own WRITE, NOTIFY or SIGNAL has left. A peer that confirms it earlier lies:
 * its memory would be let go, or it would go again elsewhere, while the vector points at it.
 */
export function hasSent(channel: Channel, sequence: number): boolean {
  return channel.writes.endAt[sequence & FLIGHT_MASK]! <= channel.vector.sentBytes;
}

/** What the peer has told anew of the time of its copies. */
export function takePeerCopies(writes: OwnWrites, copiedUs: number): number {
  const us = (copiedUs - writes.peerCopiedUs) | 0;
  writes.peerCopiedUs = copiedUs | 0;
  return us;
}
