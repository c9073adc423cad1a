// What a channel is receiving: bytes between frames in staging, the payload of the current frame in
// its segments. Written by channel-receive.hot.ts, and by intake.hot.ts for those who say where the
// payload of a frame goes.

import { FLOAT_ZERO } from '../../../base/float-zero.js';
import type { FixedMemory, MemorySource } from '../../../os/fixed-memory.js';
import {
  HEAD_AND_TABLE_BYTES_MAX,
  NOTIFICATION_BYTES_MAX,
  TABLE_ENTRIES_MAX,
} from '../../../wire/data-frame.js';

/** Bytes read before it is known where they belong; holds any head, table and notification. */
export const STAGING_BYTES = HEAD_AND_TABLE_BYTES_MAX + NOTIFICATION_BYTES_MAX + 48 * 1024;
/** Behind the staging bytes: an aligned copy of a head that arrived at an odd place. */
export const ALIGNED_HEAD_AT = Math.ceil(STAGING_BYTES / 64) * 64;

/** Between frames: bytes go to staging. */
export const PHASE_HEAD = 0;
/** Inside a payload: bytes go to the segments, what follows to staging. */
export const PHASE_PAYLOAD = 1;

/** In place of the checksum of a payload that has none: less than any, and no small integer. */
export const NO_CHECKSUM = Number.NEGATIVE_INFINITY;
/** In place of a region: none is open for the payload (draining, or an own read). */
export const NO_REGION = -1;

export class Intake {
  readonly staging: FixedMemory;
  stagingStart = 0;
  stagingEnd = 0;
  phase = PHASE_HEAD;
  /** Kind of the frame whose payload is being received. */
  frameKind = 0;
  /** Region slot opened for the payload, or NO_REGION. */
  frameRegion = NO_REGION;
  /** The checksum that the payload shall have, and what it has so far. */
  frameChecksum = NO_CHECKSUM;
  receivedChecksum = FLOAT_ZERO;
  /** Sequence of the frame. */
  frameSequence = 0;
  /** Size of the last head with its table: a guess at the next one’s. */
  frameHeadBytes = 64;
  payloadLeft = 0;
  /** What the last read asked for. */
  askedBytes = 0;
  segmentIndex = 0;
  segmentCount = 0;
  readonly segmentAddr = new Float64Array(TABLE_ENTRIES_MAX + 1);
  readonly segmentBytes = new Float64Array(TABLE_ENTRIES_MAX + 1);
  /** Since the channel was added. */
  receivedBytes = FLOAT_ZERO;

  constructor(memory: MemorySource) {
    this.staging = memory.create(ALIGNED_HEAD_AT + HEAD_AND_TABLE_BYTES_MAX, { isLow: true });
  }
}
