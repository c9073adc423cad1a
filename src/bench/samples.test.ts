// Samples that are kept with a result.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SAMPLES_MAX, thinSamples } from './samples.js';

test('thinSamples: few are kept as they are', () => {
  assert.deepEqual(thinSamples([3, 1, 2]), { every: 1, values: [3, 1, 2] });
});

test('thinSamples: of many every n-th, in their order, and never more than the cap', () => {
  const samples = Array.from({ length: 10 * SAMPLES_MAX + 1 }, (_, index) => index);
  const { every, values } = thinSamples(samples);
  assert.equal(every, 11);
  assert.ok(values.length <= SAMPLES_MAX && values.length > SAMPLES_MAX / 2);
  assert.deepEqual(values.slice(0, 3), [0, 11, 22]);
});
