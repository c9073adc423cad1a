// Limits that decide the exit code of a benchmark.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import type { BenchResult } from './bench-result.js';
import { judgeThresholds, parseThresholds } from './thresholds.js';

const RESULT = {
  bandwidthGBps: { mean: 4, p50: 5, min: 2, max: 6 },
  latencyUs: { p50: 10, p90: 20, p99: 30, max: 40 },
  cpuSecondsPerGB: { initiator: 0.1, target: 0.3 },
  kernel: { channels: [{ retransmits: 3 }, { retransmits: 4 }, { retransmits: -1 }] },
} as unknown as BenchResult;

describe('thresholds', () => {
  test('a bare number is the median bandwidth', () => {
    assert.deepEqual(parseThresholds('below', '4.5'), [
      { relation: 'below', metric: 'bandwidth', limit: 4.5 },
    ]);
  });

  test('several, each with its metric', () => {
    const limits = parseThresholds('above', 'latency.p99=25,cpu=0.5, retransmits=0');
    assert.deepEqual(
      limits.map(({ metric, limit }) => [metric, limit]),
      [
        ['latency.p99', 25],
        ['cpu', 0.5],
        ['retransmits', 0],
      ],
    );
  });

  test('what cannot be a limit is refused with what can', () => {
    for (const text of ['', 'x', 'bandwith=3', 'cpu=', 'cpu=-1', 'cpu=1=2', 'latency.p50=1e999']) {
      assert.throws(() => parseThresholds('below', text), withCode('ERR_USAGE_ARGUMENT'));
    }
    const meant = withCode('ERR_USAGE_ARGUMENT', /did you mean bandwidth\?/);
    assert.throws(() => parseThresholds('below', 'bandwith=3'), meant);
  });

  test('a figure at the limit holds, beyond it does not', () => {
    const verdicts = judgeThresholds(
      [
        ...parseThresholds('below', 'bandwidth=5,bandwidth.min=2.1'),
        ...parseThresholds('above', 'latency.p99=30,cpu=0.39,cpu.target=0.3,retransmits=6'),
      ],
      [RESULT],
    );
    assert.deepEqual(
      verdicts.map(({ metric, value, ok }) => [metric, value, ok]),
      [
        ['bandwidth', 5, true],
        ['bandwidth.min', 2, false],
        ['latency.p99', 30, true],
        ['cpu', 0.4, false],
        ['cpu.target', 0.3, true],
        ['retransmits', 7, false],
      ],
    );
  });

  test('of several runs the median counts', () => {
    const other = (p50: number) =>
      ({ ...RESULT, bandwidthGBps: { ...RESULT.bandwidthGBps, p50 } }) as BenchResult;
    const [verdict] = judgeThresholds(parseThresholds('below', '4'), [RESULT, other(1), other(4)]);
    assert.deepEqual([verdict?.value, verdict?.ok], [4, true]);
  });

  test('a figure that the run does not have fails its limit', () => {
    const bare = { ...RESULT, kernel: undefined } as unknown as BenchResult;
    const [verdict] = judgeThresholds(parseThresholds('above', 'retransmits=5'), [bare]);
    assert.equal(verdict?.ok, false);
    assert.equal(verdict.value, undefined);
  });
});
