// Bandwidth by intervals while a benchmark runs.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type BenchInterval, INTERVALS_MAX, IntervalMeter } from './interval-meter.js';

function meter(seconds: number) {
  const seen: BenchInterval[] = [];
  let retransmits = 0;
  const made = new IntervalMeter({
    seconds,
    countRetransmits: () => retransmits,
    onInterval: (interval) => seen.push(interval),
  });
  return { made, seen, lose: (count: number) => (retransmits += count) };
}

describe('interval meter', () => {
  test('an interval ends with the first iteration beyond it; rates are of the timed part', () => {
    const { made, seen, lose } = meter(1);
    made.start(0);
    made.add(500_000, 1e9, 250_000);
    made.add(999_999, 1e9, 250_000);
    assert.deepEqual(seen, []);
    lose(3);
    made.add(1_250_000, 2e9, 500_000);
    assert.deepEqual(seen, [
      { fromS: 0, toS: 1.25, bytes: 4e9, bandwidthGBps: 4, iterations: 3, retransmits: 3 },
    ]);
    lose(1);
    made.add(2_300_000, 1e9, 1_000_000);
    assert.deepEqual(seen[1], {
      fromS: 1.25,
      toS: 2.3,
      bytes: 1e9,
      bandwidthGBps: 1,
      iterations: 1,
      retransmits: 1,
    });
  });

  test('the end of the run closes the last one, however short; an empty one is none', () => {
    const { made } = meter(1);
    made.start(0);
    assert.deepEqual(made.finish(500), []);
    made.add(200_000, 1e9, 100_000);
    assert.equal(made.finish(250_000).length, 1);
    assert.equal(made.finish(250_000).length, 1, 'once');
  });

  test('a long run: neighbours become one, nothing is lost', () => {
    const { made } = meter(1);
    made.start(0);
    const count = 3 * INTERVALS_MAX;
    for (let second = 1; second <= count; second++) made.add(second * 1_000_000, 1e6, 1_000_000);
    const intervals = made.finish(count * 1_000_000);
    assert.ok(intervals.length <= INTERVALS_MAX, String(intervals.length));
    assert.equal(
      intervals.reduce((sum, { bytes }) => sum + bytes, 0),
      count * 1e6,
    );
    for (const [index, { fromS }] of intervals.entries()) {
      assert.equal(fromS, index === 0 ? 0 : intervals[index - 1]?.toS);
    }
  });
});
