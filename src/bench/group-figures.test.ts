// Several initiators at once, as one figure.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { benchResult } from '../../test/support/bench-result.js';
import type { BenchResult } from './bench-result.js';
import { groupFigures } from './group-figures.js';
import { Histogram } from './histogram.js';

function member(rateGBps: number, from: number, to: number, latenciesUs: number[]): BenchResult {
  const histogram = new Histogram();
  for (const us of latenciesUs) histogram.record(us * 1000);
  return benchResult(rateGBps, {
    bytesMoved: rateGBps * 1e6 * (to - from),
    window: { fromMs: from, toMs: to },
    histograms: { latencyNs: histogram.encode() },
  });
}

describe('figures of a group', () => {
  test('all bytes over the time from the first start to the last end', () => {
    const figures = groupFigures([member(2, 1000, 2000, [10]), member(1, 1500, 3000, [10])]);
    assert.equal(figures.bytes, 3.5e9);
    assert.equal(figures.wallGBps, 1.75);
    assert.equal(figures.sumGBps, 3);
    assert.equal(figures.overlap, 0.25, 'half a second of two');
  });

  test('latencies of all, merged', () => {
    const few = member(1, 0, 1, [100]);
    const many = member(
      1,
      0,
      1,
      Array.from({ length: 99 }, () => 10),
    );
    const { latencyUs } = groupFigures([few, many]);
    assert.ok(Math.abs(latencyUs.p50 - 10) < 0.05 && Math.abs(latencyUs.max - 100) < 0.4);
  });

  test('fairness: 1 where all move alike, 1/n where one has all', () => {
    const alike = groupFigures([member(2, 0, 1, [1]), member(2, 0, 1, [1])]);
    assert.equal(alike.fairness, 1);
    const greedy = groupFigures([member(4, 0, 1, [1]), member(1e-9, 0, 1, [1])]);
    assert.ok(Math.abs(greedy.fairness - 0.5) < 1e-6);
  });

  test('one that went wrong makes the group wrong', () => {
    const bad = { ...member(1, 0, 1, [1]), ok: false };
    assert.equal(groupFigures([bad, member(1, 0, 1, [1])]).ok, false);
  });

  test('windows that do not meet: nothing was measured at once', () => {
    assert.equal(groupFigures([member(1, 0, 1, [1]), member(1, 2, 3, [1])]).overlap, 0);
  });
});
