// Objects of the hot path keep their shape however long they live: when one changes, V8 throws away
// all code that it compiled for it. A field that is not said to stay small must take any number.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { createContext, runInContext } from 'node:vm';
import { LanePair } from '../../../../test/support/lane-pair.js';

setFlagsFromString('--allow-natives-syntax');
const compare: unknown = runInContext('(a, b) => %HaveSameMap(a, b)', createContext());
// cast: the line above says what it is
const haveSameShape = compare as (a: object, b: object) => boolean;

/** Numbers of things, kinds and 32-bit cursors, and bytes of at most one window or vector. */
const STAYS_SMALL: readonly string[] = [
  ...['sessionIndex', 'channelIndex', 'epoch', 'windowChunks', 'chunkBytesMax', 'wakeBytes'],
  ...['headUsedBytes', 'sendFirst', 'sendCount', 'sendBytes', 'flightBytes'],
  ...['writeNext', 'writeAcked', 'credit', 'granted', 'grantTold'],
  ...['readNext', 'readArrived', 'readDone', 'arrived', 'landed', 'ackSent', 'ackDelayTurns'],
  ...['serveDone', 'serveConfirmed', 'serveFramed', 'serveTail', 'refuseCount', 'refusedCount'],
  ...['stagingStart', 'stagingEnd', 'phase', 'frameKind', 'frameRegion', 'frameSequence'],
  ...['frameHeadBytes', 'payloadLeft', 'askedBytes', 'segmentIndex', 'segmentCount'],
  ...['laneIndex', 'claimedSlot'],
  // Set once, when the lane begins.
  ...['transfersAt', 'arenaAt', 'controlAt', 'stallUs', 'receiveBytes'],
];

function assertTakesAnyNumber(subject: object, fresh: object): void {
  for (const [name, value] of Object.entries(subject)) {
    if (typeof value !== 'number' || STAYS_SMALL.includes(name)) continue;
    Object.assign(subject, { [name]: 2 ** 40 + 0.5 });
    assert.ok(haveSameShape(subject, fresh), `${name} changes the shape of its object`);
  }
}

test('shape: the comparison tells a small number from a large one', () => {
  const [a, b] = [{ count: 0 }, { count: 0 }];
  assert.ok(haveSameShape(a, b));
  assert.throws(() => assertTakesAnyNumber(a, b), /count changes/);
});

test('shape: totals and times of a lane grow without a new one', () => {
  const pair = new LanePair({});
  const [core, fresh] = [pair.a.core, pair.b.core];
  const [channel, other] = [core.channels[0], fresh.channels[0]];
  assert.ok(channel !== undefined && other !== undefined);
  assertTakesAnyNumber(channel, other);
  assertTakesAnyNumber(core, fresh);
  pair.destroy();
});
