// A series of measurements: exact while it is short, of bounded size however long it gets.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SAMPLES_MAX, Series } from './samples.js';
import { percentilesOf, rateSpreadOf } from './statistics.js';

function series(values: readonly number[]): Series {
  const made = new Series(1000);
  for (const value of values) made.add(value);
  return made;
}

const FEW = [3, 1, 2, 8, 5];
const MANY = Array.from({ length: 10 * SAMPLES_MAX }, (_, index) => 100 + ((index * 7) % 1000));

describe('series', () => {
  test('few: kept as they are, percentiles exact', () => {
    const few = series(FEW);
    assert.deepEqual(few.samples(), { every: 1, values: FEW });
    assert.deepEqual(few.percentiles(), percentilesOf(FEW));
    assert.deepEqual(few.rateSpread(), rateSpreadOf(FEW));
    assert.equal(few.mean, 3.8);
  });

  test('many: every n-th is kept, in their order, and never more than the cap', () => {
    const { every, values } = series(MANY).samples();
    assert.equal(every, 16);
    assert.ok(values.length <= SAMPLES_MAX && values.length > SAMPLES_MAX / 2);
    assert.deepEqual(values.slice(0, 3), [MANY[0], MANY[16], MANY[32]]);
  });

  test('many: percentiles from the histogram, extremes and mean exact', () => {
    const many = series(MANY);
    const told = many.percentiles();
    const exact = percentilesOf(MANY);
    for (const name of ['p50', 'p90', 'p99'] as const) {
      assert.ok(Math.abs(told[name] / exact[name] - 1) < 0.004, `${name}: ${told[name]}`);
    }
    assert.equal(told.max, exact.max);
    const [spread, truth] = [many.rateSpread(), rateSpreadOf(MANY)];
    assert.ok(Math.abs(spread.mean / truth.mean - 1) < 1e-9);
    assert.equal(spread.min, truth.min);
  });

  test('of nothing: no figure is a number', () => {
    const none = series([]);
    assert.ok(Number.isNaN(none.percentiles().p50) && Number.isNaN(none.mean));
  });
});
