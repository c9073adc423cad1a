// Why an operation on a region is refused and why a transfer fails: one numbering, from the check
// of an access, through the REFUSE frame and the word of the transfer, to the error that a program
// sees. Numbers, codes and texts are in the one table below; docs are made from it.

import { assert } from './assert.js';
import type { ErrorCode } from './errors.js';

export interface Failure {
  readonly number: number;
  readonly code: ErrorCode;
  /** What the error of the transfer says. */
  readonly text: string;
  /** What the owner of the region logs of a refusal, briefly; absent where none refuses so. */
  readonly refused?: string;
  /** What the reason on the wire means; together with `refused`. */
  readonly meaning?: string;
}

/** No failure: what an access that is granted, and a transfer that is done, have. */
export const FAIL_NONE = 0;

const TABLE = {
  STALE: {
    number: 1,
    code: 'ERR_PEER_STALE_REGION',
    text: 'the region is not registered at the peer any more',
    refused: 'stale region',
    meaning: 'no such registration: free entry, other generation, or being deregistered',
  },
  KEY: {
    number: 2,
    code: 'ERR_PEER_KEY',
    text: 'the peer does not know the key of the descriptor',
    refused: 'wrong key',
    meaning: 'wrong key',
  },
  RIGHTS: {
    number: 3,
    code: 'ERR_PEER_RIGHTS',
    text: 'the region does not grant this operation',
    refused: 'no right',
    meaning: 'the region does not grant the operation',
  },
  BOUNDS: {
    number: 4,
    code: 'ERR_PEER_BOUNDS',
    text: 'the operation reaches beyond the region',
    refused: 'out of bounds',
    meaning: 'beyond the region',
  },
  // Fails a transfer only when it comes again and again.
  CHECKSUM: {
    number: 5,
    code: 'ERR_XFER_CHECKSUM',
    text: 'arrived damaged again and again',
    refused: 'damaged',
    meaning: 'the payload has another checksum than the head says: send it again',
  },
  EXPIRED: {
    number: 6,
    code: 'ERR_PEER_EXPIRED',
    text: 'the time for which the peer granted the region is over',
    refused: 'expired',
    meaning: 'the time for which the region was granted is over',
  },
  PEER_DEVICE: {
    number: 16,
    code: 'ERR_PEER_DEVICE',
    text: 'a copy of staged memory failed at the peer',
    refused: 'GPU copy failed',
    meaning: "the region is GPU memory, and copying between it and the owner's staging failed",
  },
  DEVICE: { number: 17, code: 'ERR_XFER_DEVICE', text: 'a copy of staged memory failed here' },
  CHANNEL: { number: 32, code: 'ERR_XFER_FAILED', text: 'the session is gone' },
  CANCELLED: { number: 33, code: 'ERR_XFER_CANCELLED', text: 'cancelled' },
  // Lanes know it as a cancel: who cancelled is known to the engine alone.
  DEADLINE: { number: 34, code: 'ERR_XFER_DEADLINE', text: 'deadline passed' },
} as const satisfies Readonly<Record<string, Failure>>;

/** In the order of their numbers. */
export const FAILURES: readonly Failure[] = Object.values(TABLE);

export const FAIL_STALE = TABLE.STALE.number;
export const FAIL_KEY = TABLE.KEY.number;
export const FAIL_RIGHTS = TABLE.RIGHTS.number;
export const FAIL_BOUNDS = TABLE.BOUNDS.number;
export const FAIL_CHECKSUM = TABLE.CHECKSUM.number;
export const FAIL_EXPIRED = TABLE.EXPIRED.number;
/** The GPU of the region's owner failed; so it says to the initiator, whose peer it is. */
export const FAIL_PEER_DEVICE = TABLE.PEER_DEVICE.number;
/** The initiator's own GPU failed. */
export const FAIL_DEVICE = TABLE.DEVICE.number;
export const FAIL_CHANNEL = TABLE.CHANNEL.number;
export const FAIL_CANCELLED = TABLE.CANCELLED.number;
export const FAIL_DEADLINE = TABLE.DEADLINE.number;

/** Those that the owner of a region may give as a reason. */
export const REFUSALS: readonly Failure[] = FAILURES.filter((one) => one.refused !== undefined);

const IS_REFUSAL = new Uint8Array(256);
for (const { number } of REFUSALS) IS_REFUSAL[number] = 1;

/** Whether a peer may give this number, which came over the wire, as a reason. */
export function isRefusal(reason: number): boolean {
  return reason < IS_REFUSAL.length && IS_REFUSAL[reason] === 1;
}

/** A reason of our own, or one of a peer that isRefusal has let in. */
export function failureOf(reason: number): Failure {
  const failure = FAILURES.find(({ number }) => number === reason);
  assert(failure !== undefined, `${reason} is the number of a failure`);
  return failure;
}
