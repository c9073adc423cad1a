// Histograms of latencies: close to the truth, and merged without loss.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { seededRandom } from '../base/random.js';
import { decodeHistogram, Histogram } from './histogram.js';
import { percentile } from './statistics.js';

function filled(values: readonly number[]): Histogram {
  const histogram = new Histogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

/** From nanoseconds to minutes, every magnitude alike. */
function spread(count: number, seed: number): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => Math.floor(2 ** (36 * random.nextFloat())));
}

describe('histogram', () => {
  test('every percentile is within 0.4 % of the exact one', () => {
    const values = spread(20_000, 1);
    const histogram = filled(values);
    const sorted = [...values].sort((a, b) => a - b);
    for (const fraction of [0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1]) {
      const exact = percentile(sorted, fraction);
      const told = histogram.percentile(fraction);
      assert.ok(Math.abs(told - exact) <= 0.004 * exact, `${fraction}: ${told}, exact ${exact}`);
    }
    assert.equal(histogram.count, 20_000);
  });

  test('small values are exact', () => {
    const histogram = filled([0, 1, 2, 3, 200]);
    assert.deepEqual(
      [0, 0.4, 0.6, 0.8, 1].map((fraction) => histogram.percentile(fraction)),
      [0, 1, 2, 3, 200],
    );
  });

  test('merged: as if one had seen everything, in any order', () => {
    const [a, b, c] = [spread(500, 1), spread(700, 2), spread(900, 3)];
    const whole = filled([...a, ...b, ...c]).encode();
    const left = filled(a);
    left.merge(filled(b));
    left.merge(filled(c));
    const right = filled(c);
    right.merge(filled(a));
    right.merge(filled(b));
    assert.deepEqual(left.encode(), whole);
    assert.deepEqual(right.encode(), whole);
  });

  test('encoded and decoded: the same', () => {
    const histogram = filled(spread(1000, 4));
    const text = JSON.stringify(histogram.encode());
    assert.deepEqual(decodeHistogram(JSON.parse(text)).encode(), histogram.encode());
    assert.deepEqual(decodeHistogram(new Histogram().encode()).count, 0);
  });

  test('what lies beyond the range counts at its end', () => {
    const histogram = filled([2 ** 50]);
    assert.equal(histogram.count, 1);
    assert.ok(histogram.percentile(1) >= 2 ** 42);
  });

  test('nothing recorded: no percentile', () => {
    assert.ok(Number.isNaN(new Histogram().percentile(0.5)));
  });

  test('documents that are no histograms are refused', () => {
    const good = filled([5, 5, 900]).encode();
    const bad: readonly unknown[] = [
      null,
      {},
      { ...good, precision: 3 },
      { ...good, counts: [1] },
      { ...good, counts: [-1, 2] },
      { ...good, counts: [5, -2] },
      { ...good, counts: [5, 1, 5, 1] },
      { ...good, counts: [1e9, 1] },
      { ...good, counts: [0.5, 1] },
      { ...good, counts: 'x' },
    ];
    for (const document of bad) {
      assert.throws(() => decodeHistogram(document), withCode('ERR_WIRE_FRAME'));
    }
  });
});
