import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BenchProgress, StepProgress } from './bench-progress.js';

const channel = (index: number, bytesAcked: number) => {
  return { channel: index, nic: `eth${index + 1}`, bytesAcked, bytesReceived: 0 };
};

test('progress: how far, how fast, how long yet, and the rate of each channel', () => {
  const progress = new BenchProgress();
  const first = progress.lines(0.05, 4e9, () => [channel(0, 0), channel(1, 0)], 1000);
  assert.equal(first?.length, 1, 'a rate needs two looks');
  assert.equal(
    progress.lines(0.07, 4e9, () => [], 1100),
    undefined,
    'not more often than needed',
  );
  const second = progress.lines(0.25, 4e9, () => [channel(0, 3e9), channel(1, 1e9)], 2000);
  assert.deepEqual(second, [
    '[#####...............] 25 %  4.00 GB/s  3.8 s left',
    '  channel 0 on eth1: 3.00 GB/s by the clock',
    '  channel 1 on eth2: 1.00 GB/s by the clock',
  ]);
});

test('progress: one channel needs no line of its own, many are cut, unknown is said', () => {
  const single = new BenchProgress();
  single.lines(0.1, 1e9, () => [channel(0, 0)], 0);
  assert.equal(single.lines(0.2, 1e9, () => [channel(0, 9)], 500)?.length, 1);
  const many = new BenchProgress();
  const of = (bytes: number) => () => Array.from({ length: 10 }, (_, i) => channel(i, bytes));
  many.lines(0.1, 1e9, of(0), 0);
  const lines = many.lines(0.2, 1e9, of(-1), 500) ?? [];
  assert.equal(lines.at(-1), '  and 2 more');
  assert.match(lines[1] ?? '', /channel 0 on eth1: not counted/);
});

test('progress of steps: how many, how long yet, which', () => {
  const steps = new StepProgress();
  assert.equal(steps.line(0, 8, 'iperf3', 1000), '[....................] 0 %  0 of 8  iperf3');
  assert.equal(
    steps.line(2, 8, 'UCX put', 5000),
    '[#####...............] 25 %  2 of 8  12 s left  UCX put',
  );
});
