import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLaneBindings } from '../../base/lane-bindings.js';
import { cpusOfLanes, laneOfChannel } from './lane-placement.js';

test('lane placement: channels of a NIC share a lane, whatever the session', () => {
  for (const session of [0, 1, 5]) {
    assert.equal(laneOfChannel(session, 1, 4, 4), laneOfChannel(0, 5, 4, 4));
  }
  assert.equal(laneOfChannel(1, 0, 4, 0), 1, 'without NICs sessions start at different lanes');
});

test('lane placement: a lane gets the cores of the NICs that it serves', () => {
  const bindings = parseLaneBindings('eth1:1-2;eth2:3-4;eth3:5;eth4:6');
  const nics = ['eth1', 'eth2', 'eth3', 'eth4'];
  assert.deepEqual(cpusOfLanes(bindings, nics, 2), [
    [1, 2, 5],
    [3, 4, 6],
  ]);
  assert.deepEqual(cpusOfLanes(bindings, [], 1), [[1, 2, 3, 4, 5, 6]]);
  assert.deepEqual(cpusOfLanes(new Map(), nics, 2), [[], []]);
});
