// The flight of own READ_REQUEST frames: framed, answered, landed in order.

import { assert } from '../../../base/assert.js';
import type { ChunkIndex, TransferSlot } from '../../../base/quantity.js';
import type { Channel } from './channel.js';
import { FLIGHT_DRAINED, FLIGHT_MASK, FLIGHT_SLOTS } from './flight.js';
import type { LaneCore } from './lane-core.js';
import type { OwnReads } from './own-reads.js';

/** The request that was just put into the vector takes the next place. */
export function addRead(
  core: LaneCore,
  channel: Channel,
  slot: TransferSlot,
  chunk: ChunkIndex,
): void {
  const { reads } = channel;
  assert(((reads.next - reads.done) | 0) < FLIGHT_SLOTS, 'the flight has a place');
  const flight = reads.next & FLIGHT_MASK;
  reads.transfer[flight] = slot;
  reads.chunk[flight] = chunk;
  reads.sentUs[flight] = core.nowUs;
  reads.deliveredAt[flight] = channel.credit.deliveredBytes;
  reads.next = (reads.next + 1) | 0;
}

/** Whether the peer owes answers. */
export function isAnswerOwed(reads: OwnReads): boolean {
  return reads.next !== reads.arrived;
}

/** The oldest unanswered one has its answer, or its refusal. */
export function onReadAnswered(reads: OwnReads): void {
  assert(isAnswerOwed(reads), 'an answer was asked for');
  reads.arrived = (reads.arrived + 1) | 0;
}

/** Its transfer has failed meanwhile: the answer is dropped. */
export function drainRead(reads: OwnReads, flight: number): void {
  reads.chunk[flight] = FLIGHT_DRAINED;
}

/** The oldest one leaves; its place, which still says what it was. */
export function takeRead(reads: OwnReads): number {
  assert(reads.done !== reads.next, 'a request that is taken is in flight');
  const { done } = reads;
  reads.done = (done + 1) | 0;
  return done & FLIGHT_MASK;
}

/** An answer came whose owner holds its memory for it. */
export function wantConfirm(reads: OwnReads): void {
  reads.isConfirmWanted = true;
}

/**
 * Whether the peer waits to hear of answers, and no request of this turn tells it. Not only when
 * all have come: what it holds for these may be what it lacks for the next.
 */
export function isConfirmDue(reads: OwnReads, isAsking: boolean): boolean {
  if (!reads.isConfirmWanted || isAsking) return false;
  return reads.done !== reads.told || reads.next === reads.done;
}

/** An ACK tells how many answers have landed; with all of them there is no more to tell. */
export function onConfirmed(reads: OwnReads): void {
  reads.told = reads.done;
  if (reads.next === reads.done) reads.isConfirmWanted = false;
}
