import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextSpinUs } from './spin.js';

const LIMIT_US = 200;

function spinAfter(start: number, waits: readonly number[]): number {
  return waits.reduce((spinUs, waitedUs) => nextSpinUs(spinUs, waitedUs, LIMIT_US), start);
}

test('spin: a lane that is woken rarely stops to spin', () => {
  assert.equal(spinAfter(LIMIT_US, [1000, 1000]), 50);
  assert.equal(spinAfter(LIMIT_US, [1000, 100_000, 500, 1000]), 0);
  assert.equal(spinAfter(0, [1000]), 0);
});

test('spin: a lane that sleeps shortly spins longer, up to the limit', () => {
  assert.equal(spinAfter(0, [60]), 25);
  assert.equal(spinAfter(0, [60, 60, 60]), 100);
  assert.equal(
    spinAfter(
      0,
      Array.from({ length: 10 }, () => 60),
    ),
    LIMIT_US,
  );
});

test('spin: a limit of 0 never spins, and a small one is kept', () => {
  assert.equal(nextSpinUs(0, 0, 0), 0);
  assert.equal(nextSpinUs(10, 50, 10), 10);
  assert.equal(nextSpinUs(10, 100_000, 10), 10);
});
