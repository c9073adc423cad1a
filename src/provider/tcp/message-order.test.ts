import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageOrder } from './message-order.js';

const OWN = { lanes: [2], isOwn: true };
const THREADS = { lanes: [0, 1], isOwn: false };
const LIVING = [0, 1, 2];

test('message order: one behind others takes their way while these are not confirmed', () => {
  const order = new MessageOrder();
  assert.equal(order.way(true, LIVING), undefined);
  assert.equal(order.isBehind(THREADS), false);
  order.onPosted(THREADS);
  assert.equal(order.way(true, LIVING), THREADS);
  assert.equal(order.way(true, [1, 2]), undefined, 'its lane is lost');
  assert.equal(order.onOver(THREADS), false);
  assert.equal(order.way(true, LIVING), undefined);
});

test('message order: what becomes too much for the posting thread waits for what it has', () => {
  const order = new MessageOrder();
  order.onPosted(OWN);
  order.onPosted(OWN);
  assert.deepEqual([order.isBehind(OWN), order.isBehind(THREADS)], [false, true]);
  assert.equal(order.way(false, LIVING), undefined);
  order.onPosted(THREADS);
  assert.equal(order.way(true, LIVING), THREADS, 'none overtakes the one that waits');
  assert.deepEqual([order.onOver(OWN), order.onOver(OWN)], [false, true]);
  assert.equal(order.isBehind(THREADS), false);
});
