import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RetryDelay } from './retry-delay.js';

const SECOND_US = 1e6;

test('retry: at once after a connection that has lasted, then ever longer, up to 2 s', () => {
  const delay = new RetryDelay(60_000, 0);
  const waits = [delay.afterLoss(10 * SECOND_US)];
  for (let attempt = 0; attempt < 7; attempt++) waits.push(delay.afterFailure());
  assert.deepEqual(waits, [0, 100, 200, 400, 800, 1600, 2000, 2000]);
});

test('retry: a connection that dies at once does not reset the waits, one that lasts does', () => {
  const delay = new RetryDelay(60_000, 0);
  delay.afterLoss(10 * SECOND_US);
  delay.onMade(10.1 * SECOND_US);
  assert.equal(delay.afterLoss(10.2 * SECOND_US), 100);
  delay.onMade(10.3 * SECOND_US);
  assert.equal(delay.afterLoss(12.2 * SECOND_US), 200);
  delay.onMade(12.5 * SECOND_US);
  assert.equal(delay.afterLoss(14.6 * SECOND_US), 0);
});

test('retry: several attempts fit in the time after which a session is lost', () => {
  const delay = new RetryDelay(1000, 0);
  for (let attempt = 0; attempt < 9; attempt++) delay.afterFailure();
  assert.equal(delay.afterFailure(), 250);
});
