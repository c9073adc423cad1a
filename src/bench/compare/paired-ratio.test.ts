import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pairedRatio } from './paired-ratio.js';

test('paired ratio: what slows whole turns does not move it', () => {
  const theirs = [8, 4, 8, 2, 6, 5];
  const ours = theirs.map((rate) => rate * 1.1);
  const { median, low, high } = pairedRatio(ours, theirs);
  for (const ratio of [median, low, high]) assert.ok(Math.abs(ratio - 1.1) < 1e-9);
});

test('paired ratio: the interval is that of the sign test', () => {
  const of = (count: number) => {
    const ratios = Array.from({ length: count }, (_, index) => index + 1);
    return pairedRatio(
      ratios,
      ratios.map(() => 1),
    );
  };
  const { confidence: ofThree, low, high } = of(3);
  assert.deepEqual([ofThree, low, high], [0.75, 1, 3], 'few pairs: the range, and how little');
  assert.deepEqual([of(6).low, of(6).high, of(6).confidence], [1, 6, 1 - 2 / 64]);
  // Tables of the sign test have the second of nine and the sixth of twenty.
  assert.deepEqual([of(9).low, of(9).high], [2, 8]);
  assert.deepEqual([of(20).low, of(20).high], [6, 15]);
});
