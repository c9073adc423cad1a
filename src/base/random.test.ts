import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from './random.js';

function take(seed: number, count: number): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => random.nextUint32());
}

test('random: the same seed replays, another one differs', () => {
  assert.deepEqual(take(7, 100), take(7, 100));
  assert.notDeepEqual(take(7, 100), take(8, 100));
});

test('random: values are whole, unsigned and spread over the range', () => {
  for (const seed of [0, 1, -1, 2 ** 31, 2 ** 32 - 1]) {
    const values = take(seed, 4000);
    assert.ok(values.every((value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32));
    assert.ok(new Set(values).size > 3990, `seed ${seed}: repeats`);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length / 2 ** 32;
    assert.ok(Math.abs(mean - 0.5) < 0.03, `seed ${seed}: mean ${mean}`);
  }
});

test('random: between includes both bounds and nothing beyond', () => {
  const random = seededRandom(1);
  const seen = new Set(Array.from({ length: 1000 }, () => random.nextBetween(3, 6)));
  assert.deepEqual([...seen].sort(), [3, 4, 5, 6]);
  assert.equal(random.nextBetween(9, 9), 9);
});

test('random: a chance is met as often as asked', () => {
  const random = seededRandom(1);
  const count = (probability: number) =>
    Array.from({ length: 4000 }, () => random.nextChance(probability)).filter(Boolean).length;
  assert.equal(count(0), 0);
  assert.equal(count(1), 4000);
  assert.ok(Math.abs(count(0.25) - 1000) < 120);
});
