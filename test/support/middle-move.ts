// One transfer from the middle of a region into the middle of another, checked byte for byte: what
// lands, what lies before and behind it, and that the source stays as it was.

import assert from 'node:assert/strict';
import { fillPattern, findMismatch } from '../../src/base/pattern.js';
import type { Region } from '../../src/memory/region.js';
import { block, type LanePair } from './lane-pair.js';

/** Bytes before the payload in both regions; behind it there must be some, too. */
const MARGIN_BYTES = 3;
const SEED = 5;

export interface MovePlace {
  readonly memory: Uint8Array;
  readonly region: Region;
}

/** Room for the payload and margins around it. */
export function middleMoveBytes(bytes: number): number {
  return bytes + 20;
}

/** Moves between `local` of end a and `remote` of end b; returns the slot of the transfer. */
export function assertMovesMiddle(
  pair: LanePair,
  operation: 'write' | 'read',
  local: MovePlace,
  remote: MovePlace,
  bytes: number,
): number {
  const [source, target] =
    operation === 'write' ? [local.memory, remote.memory] : [remote.memory, local.memory];
  const end = MARGIN_BYTES + bytes;
  fillPattern(source, SEED);
  const slot = pair.a.post(operation, [
    block(local.region, remote.region, bytes, MARGIN_BYTES, MARGIN_BYTES),
  ]);
  assert.equal(pair.finish(slot), 0);
  // At this very moment, not a poll later: done means landed.
  assert.equal(findMismatch(target.subarray(MARGIN_BYTES, end), SEED, MARGIN_BYTES), -1);
  assert.deepEqual([...target.subarray(0, MARGIN_BYTES)], [0, 0, 0], 'nothing before');
  assert.ok(
    target.subarray(end).every((byte) => byte === 0),
    'nothing behind',
  );
  assert.equal(findMismatch(source, SEED), -1, 'the source is untouched');
  pair.settle();
  assert.equal(pair.b.regions.users(remote.region), 0);
  assert.equal(pair.a.transfers.channelBytes(slot, 0), bytes);
  return slot;
}
