import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTcpxError } from '../base/errors.js';
import { cpusOfLanes, laneOfChannel, parseLaneBindings } from './lane-placement.js';

test('lane bindings: the grammar of NIC:CORES;… gives cores by NIC', () => {
  const bindings = parseLaneBindings('eth1:8-10,112;eth2:60-61');
  assert.deepEqual(bindings.get('eth1'), [8, 9, 10, 112]);
  assert.deepEqual(bindings.get('eth2'), [60, 61]);
});

test('lane bindings: no cores, no NIC twice, no other grammar', () => {
  for (const text of ['eth1', 'eth1:', 'eth1:x', 'eth1:3-1', 'eth1:1;eth1:2', 'eth1:1:2']) {
    assert.throws(
      () => parseLaneBindings(text),
      (error) => isTcpxError(error, 'ERR_CONFIG_VALUE'),
      text,
    );
  }
});

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
