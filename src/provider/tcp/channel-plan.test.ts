// Which channels a session has, as each end sees them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { channelPlan } from './channel-plan.js';

const UNKNOWN = { isKnown: false, beginsWithOne: false };
const LATE = { isKnown: true, beginsWithOne: true };

test('channel plan: a peer that knows of no late channels has those that were agreed', () => {
  const plan = { count: 4, needed: 4, own: -1, peers: -1 };
  assert.deepEqual(channelPlan(4, 'client', UNKNOWN), plan);
  assert.deepEqual(channelPlan(4, 'server', UNKNOWN), plan);
});

test('channel plan: one end’s own is the other’s peer’s', () => {
  assert.deepEqual(channelPlan(4, 'client', LATE), { count: 6, needed: 1, own: 4, peers: 5 });
  assert.deepEqual(channelPlan(4, 'server', LATE), { count: 6, needed: 1, own: 5, peers: 4 });
});

test('channel plan: channels that were asked for are there from the start', () => {
  const asked = { isKnown: true, beginsWithOne: false };
  assert.deepEqual(channelPlan(4, 'client', asked), { count: 6, needed: 4, own: 4, peers: 5 });
});

test('channel plan: no more than sixteen, and then nobody has one of its own', () => {
  assert.equal(channelPlan(14, 'client', LATE).count, 16);
  for (const agreed of [15, 16]) {
    assert.deepEqual(channelPlan(agreed, 'client', LATE), {
      ...{ count: agreed, needed: 1 },
      ...{ own: -1, peers: -1 },
    });
  }
});
