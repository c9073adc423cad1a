// Statistics of samples.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { percentile, percentilesOf, rateSpreadOf } from './statistics.js';

test('rateSpreadOf: the mean is all amounts over all time, not the mean of the rates', () => {
  // Two equal amounts: one second at 1, a third of a second at 3.
  assert.deepEqual(rateSpreadOf([3, 1]), { mean: 1.5, p50: 1, min: 1, max: 3 });
});

test('percentilesOf: nearest rank, whatever the order', () => {
  const samples = Array.from({ length: 100 }, (_, index) => 100 - index);
  assert.deepEqual(percentilesOf(samples), { p50: 50, p90: 90, p99: 99, max: 100 });
});

test('percentile: nothing of nothing', () => {
  assert.ok(Number.isNaN(percentile([], 0.5)));
});
