import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseLaneBindings } from '../../base/lane-bindings.js';
import { channelPlan } from './channel-plan.js';
import { cpusOfLanes, lanesOfChannels, nodesOfLanes, withNodeCpus } from './lane-placement.js';

/** So many that were agreed, of an end that was called. */
function planOf(agreed: number) {
  return channelPlan(agreed, 'server', { isKnown: false, beginsWithOne: false });
}

test('lane placement: channels of a NIC share a lane, whatever the session', () => {
  for (const session of [0, 1, 5]) {
    const here = { threads: 4, own: undefined, nics: 4 };
    assert.deepEqual(lanesOfChannels(session, planOf(6), here), [0, 1, 2, 3, 0, 1]);
  }
  const here = { threads: 4, own: undefined, nics: 0 };
  const lanes = lanesOfChannels(1, planOf(3), here);
  assert.deepEqual(lanes, [1, 2, 3], 'sessions start at different lanes');
});

test('lane placement: what each end posts alone has the own lane of a thread that has one', () => {
  const late = { isKnown: true, beginsWithOne: true };
  const [client, server] = [channelPlan(2, 'client', late), channelPlan(2, 'server', late)];
  const posts = { threads: 2, own: 'posts', nics: 0 } as const;
  assert.deepEqual(lanesOfChannels(0, client, posts), [0, 1, 2, 1]);
  assert.deepEqual(lanesOfChannels(0, server, posts), [0, 1, 0, 2], 'the peer’s has a thread');
  assert.deepEqual(lanesOfChannels(0, server, { ...posts, own: 'all' }), [0, 1, 2, 2]);
  assert.deepEqual(lanesOfChannels(1, server, { ...posts, own: undefined }), [1, 0, 1, 0]);
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

test('lane placement: a lane lies on the node of the NICs that it serves', () => {
  const nodeOf = new Map([
    ['eth1', 0],
    ['eth2', 1],
    ['eth3', 0],
    ['eth4', 1],
  ]);
  const nics = ['eth1', 'eth2', 'eth3', 'eth4'];
  assert.deepEqual(nodesOfLanes(nodeOf, nics, 4), [0, 1, 0, 1]);
  assert.deepEqual(nodesOfLanes(nodeOf, nics, 2), [0, 1], 'two NICs of one node each');
  assert.deepEqual(nodesOfLanes(nodeOf, nics, 1), [undefined], 'NICs of two nodes');
  assert.deepEqual(nodesOfLanes(nodeOf, nics, 3), [undefined, 1, 0], 'eth1 and eth4 share a lane');
  assert.deepEqual(nodesOfLanes(nodeOf, ['eth1'], 2), [0, undefined], 'a lane without a NIC');
  assert.deepEqual(nodesOfLanes(nodeOf, ['eth1', 'eth9'], 1), [undefined], 'one is not known');
  assert.deepEqual(nodesOfLanes(nodeOf, ['eth9'], 1), [undefined]);
  assert.deepEqual(nodesOfLanes(nodeOf, [], 2), [undefined, undefined]);
});

test('lane placement: cores of the node, unless cores are named or none is allowed', () => {
  const cpusOf = new Map([
    [0, [0, 1, 2]],
    [1, [3, 4, 5]],
  ]);
  const choose = (cpus: number[][], nodes: (number | undefined)[], allowed: number[]) =>
    withNodeCpus(cpus, nodes, cpusOf, allowed);
  assert.deepEqual(choose([[], []], [0, 1], [0, 1, 2, 3, 4]), [
    [0, 1, 2],
    [3, 4],
  ]);
  assert.deepEqual(choose([[7]], [0], [0, 1]), [[7]], 'by hand');
  assert.deepEqual(choose([[]], [undefined], [0, 1]), [[]]);
  assert.deepEqual(choose([[]], [1], [0, 1]), [[]], 'left unpinned');
});
