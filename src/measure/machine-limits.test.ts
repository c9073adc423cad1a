// The measurement itself, once and short: every figure is one, and a refusal is told as such.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowedCpus, measureLimits, samplesOf } from './machine-limits.js';

test('machine limits: figures of pairs and streams; a reason where there is none', async () => {
  const [first] = allowedCpus();
  assert.ok(first !== undefined);
  const steps: string[] = [];
  const limits = await measureLimits({
    pairs: [{ place: 'one CPU', first, second: first }],
    congestion: ['reno', 'no-such-control'],
    pairCongestion: 'reno',
    rounds: 1,
    onProgress: (text) => steps.push(text),
  });
  const [pair] = limits.pairs;
  assert.ok(pair !== undefined);
  // On one CPU a word waits for the end of a time slice, a wake-up does not.
  assert.ok(pair.tripNs.median / 1000 > pair.wakeUs.median, JSON.stringify(pair));
  assert.ok(pair.wakeUs.median > 0);
  assert.ok(pair.streamGBps.median > 0.001);
  const [reno, missing] = limits.congestion;
  assert.ok((reno?.streamGBps?.median ?? 0) > 0.001);
  assert.ok((reno?.rttUs?.median ?? 0) > 0);
  assert.equal(missing?.streamGBps, undefined);
  assert.match(missing?.reason ?? '', /no-such-control.*ENOENT/);
  assert.ok(steps.length >= 3);
});

test('samples: median, least and most; none is an error, not a zero', () => {
  assert.deepEqual(samplesOf([3, 1, 2]), { median: 2, min: 1, max: 3 });
  assert.throws(() => samplesOf([]), RangeError);
});
