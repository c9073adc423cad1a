// Refusals of the peer's writes: noted, sent in the order of their sequences, kept for a fence.

import { FLIGHT_MASK } from './flight.js';
import type { Refusals } from './refusals.js';

export function addRefusal(refusals: Refusals, sequence: number, reason: number): void {
  let index = refusals.count;
  while (index > 0 && ((refusals.sequence[index - 1]! - sequence) | 0) > 0) {
    refusals.sequence[index] = refusals.sequence[index - 1]!;
    refusals.reason[index] = refusals.reason[index - 1]!;
    index--;
  }
  refusals.sequence[index] = sequence;
  refusals.reason[index] = reason;
  refusals.count++;
  const past = refusals.pastCount & FLIGHT_MASK;
  refusals.pastReason[past] = reason;
  refusals.pastSequence[past] = sequence;
  refusals.pastCount = (refusals.pastCount + 1) | 0;
}

/** The first `count` were put into the vector. */
export function dropFramed(refusals: Refusals, count: number): void {
  refusals.sequence.copyWithin(0, count, refusals.count);
  refusals.reason.copyWithin(0, count, refusals.count);
  refusals.count -= count;
}

/** The notification of this transfer must not be delivered; false when that was known. */
export function noteTransfer(refusals: Refusals, low: number, high: number): boolean {
  const isKnown = isTransferRefused(refusals, low, high);
  refusals.transferLow = low;
  refusals.transferHigh = high;
  return !isKnown;
}

export function isTransferRefused(refusals: Refusals, low: number, high: number): boolean {
  return low === refusals.transferLow && high === refusals.transferHigh;
}
