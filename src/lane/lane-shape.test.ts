// Objects of the hot path keep their shape however long they live: when one changes, V8 throws away
// all code that it compiled for it. Minus zero and zero differ in shape, as 1 and 2^40 do.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { createContext, runInContext } from 'node:vm';
import { LanePair } from '../testing/lane-pair.js';
import type { Channel } from './channel.js';
import type { LaneCore } from './lane-core.js';

setFlagsFromString('--allow-natives-syntax');
const compare: unknown = runInContext('(a, b) => %HaveSameMap(a, b)', createContext());
// cast: the line above says what it is
const haveSameShape = compare as (a: object, b: object) => boolean;

const GROWING: readonly (keyof Channel)[] = [
  'deliveredBytes',
  'rateBytesPerUs',
  'progressUs',
  'progressMark',
  'queuedBytes',
  'stalledAtBytes',
  'sentBytes',
  'receivedBytes',
];
const TIMES: readonly (keyof LaneCore)[] = ['healthUs', 'nowUs'];

test('shape: the comparison tells a small number from a large one', () => {
  const [a, b] = [{ count: 0 }, { count: 0 }];
  assert.ok(haveSameShape(a, b));
  a.count = 2 ** 40;
  assert.ok(!haveSameShape(a, b));
});

test('shape: totals and times of a lane grow without a new one', () => {
  const pair = new LanePair({});
  const [core, fresh] = [pair.a.core, pair.b.core];
  const [channel, other] = [core.channels[0], fresh.channels[0]];
  assert.ok(channel !== undefined && other !== undefined);
  for (const name of GROWING) {
    Object.assign(channel, { [name]: 2 ** 40 + 0.5 });
    assert.ok(haveSameShape(channel, other), name);
  }
  for (const name of TIMES) {
    Object.assign(core, { [name]: 2 ** 40 + 0.5 });
    assert.ok(haveSameShape(core, fresh), name);
  }
});
