// Where the payload of the frame that is being received goes, and what it shall be.

import { assert } from '../../../base/assert.js';
import type { Address, ByteCount } from '../../../base/quantity.js';
import { type Intake, NO_CHECKSUM, NO_REGION, PHASE_HEAD } from './intake.js';
import { SINK_BYTES } from './lane-core.js';

/** A frame with a payload; `region` is open for it, or NO_REGION. */
export function beginPayload(intake: Intake, kind: number, region: number, bytes: number): void {
  assert(intake.phase === PHASE_HEAD, 'a frame begins behind the payload of the last');
  assert(intake.frameRegion === NO_REGION, 'the region of the last payload was closed');
  intake.frameKind = kind;
  intake.frameRegion = region;
  intake.payloadLeft = bytes;
  intake.frameChecksum = NO_CHECKSUM;
}

export function noteSequence(intake: Intake, sequence: number): void {
  intake.frameSequence = sequence;
}

export function setSegment(intake: Intake, index: number, addr: Address, bytes: ByteCount): void {
  intake.segmentAddr[index] = addr;
  intake.segmentBytes[index] = bytes;
}

/** Those set before are the places of the payload, in order. */
export function endSegments(intake: Intake, count: number): void {
  intake.segmentIndex = 0;
  intake.segmentCount = count;
}

/** The payload is read and dropped: the stream goes on behind it. */
export function aimAtSink(intake: Intake, sinkAddr: number): void {
  let count = 0;
  for (let left = intake.payloadLeft; left > 0; left -= SINK_BYTES) {
    setSegment(intake, count, sinkAddr, left < SINK_BYTES ? left : SINK_BYTES);
    count++;
  }
  endSegments(intake, count);
}

/** The payload shall have this checksum. */
export function expectChecksum(intake: Intake, sum: number): void {
  intake.frameChecksum = sum;
  intake.receivedChecksum = 0;
}

/** Whether the payload that has just arrived is not what its owner sent. */
export function takeDamage(intake: Intake): boolean {
  const expected = intake.frameChecksum;
  intake.frameChecksum = NO_CHECKSUM;
  return expected >= 0 && intake.receivedChecksum !== expected;
}

/** The region of the payload; whoever takes it closes it. */
export function takeRegion(intake: Intake): number {
  const region = intake.frameRegion;
  intake.frameRegion = NO_REGION;
  return region;
}
