// Shapes of what a benchmark moves, and forms in which it tells of it.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { BenchResult } from '../../src/bench/bench-result.js';
import { decodeHistogram } from '../../src/bench/histogram.js';
import { runTcpx } from './child.js';

const FEW = ['--iters', '3', '--warmup', '1'];

async function loopback(flags: readonly string[]): Promise<BenchResult> {
  const { exitCode, stdout, stderr } = await runTcpx(['bench', 'loopback', '--json', ...flags]);
  assert.equal(exitCode, 0, stderr);
  return JSON.parse(stdout) as BenchResult;
}

describe('bench loopback: shapes and forms of output', () => {
  test('bench: both directions at once, each checked where it landed', async () => {
    const flags = ['--bidir', '--size', '1MiB', '--block', '64KiB', '--batch', '2', ...FEW];
    const result = await loopback(flags);
    assert.deepEqual([result.op, result.ok], ['both', true]);
    assert.deepEqual(result.verified, { iterations: 4, mismatches: 0 });
    assert.equal(result.bytesMoved, 3 * 2 * 2 * 1_048_576);
    const channels = result.kernel?.channels ?? [];
    const moved = 3 * 2 * 1_048_576;
    for (const counter of ['bytesAcked', 'bytesReceived'] as const) {
      const bytes = channels.reduce((sum, channel) => sum + channel[counter], 0);
      assert.ok(bytes >= moved, `${counter} ${bytes}`);
    }
  });

  test('bench: the histogram holds every transfer, the intervals every byte', async () => {
    const result = await loopback(['--size', '64KiB', '--iters', '40', '--batch', '3']);
    assert.ok(result.histograms !== undefined);
    const histogram = decodeHistogram(result.histograms.latencyNs);
    assert.equal(histogram.count, 120);
    const p50 = histogram.percentile(0.5) / 1000;
    assert.ok(Math.abs(p50 / result.latencyUs.p50 - 1) < 0.004, `${p50} ${result.latencyUs.p50}`);
    const bytes = (result.intervals ?? []).reduce((sum, interval) => sum + interval.bytes, 0);
    assert.equal(bytes, 120 * 65_536);
    const { postUs, flightUs } = result.phases ?? {};
    assert.ok(postUs !== undefined && flightUs !== undefined && postUs.p99 > 0);
  });

  test('bench: lines of intervals while it runs, as iperf3 has them', async () => {
    const words = ['bench', 'loopback', '--size', '64KiB', '-t', '3', '-i', '1'];
    const { exitCode, stderr } = await runTcpx(words);
    assert.equal(exitCode, 0, stderr);
    const lines = stderr.split('\n').filter((line) => /^ *\d+\.\d+-\d+\.\d+ s .* GB\/s/.test(line));
    assert.ok(lines.length >= 2, stderr);
  });

  test('bench: a prompt’s KV cache, in blocks', async () => {
    const result = await loopback(['--kv', 'llama-3.1-8b,tokens=16,tp=8', ...FEW]);
    assert.equal(result.sizeBytes, 32 * 2 * 16 * 128 * 2);
    assert.equal(result.kv?.descriptors, 64);
    assert.equal(result.requestDepth?.blocks, 64);
    assert.equal(result.origins?.['bench.sizeBytes'], 'flag --kv');
    assert.deepEqual(result.verified, { iterations: 4, mismatches: 0 });
  });

  test('bench: columns of nixlbench, and CSV', async () => {
    const words = ['bench', 'loopback', '--size', '64KiB', '--block', '4KiB', ...FEW];
    const table = await runTcpx([...words, '--format', 'nixlbench'], { COLUMNS: '200' });
    assert.match(table.stdout, /^Block Size \(B\) +Batch Size +B\/W \(GB\/Sec\)/);
    assert.match(table.stdout, /^ +4096 +16 +\d+\.\d{6} /m);
    const csv = await runTcpx([...words, '--format', 'csv', '--runs', '2']);
    // A warning may have commas: its cell is quoted then.
    const rows = csv.stdout
      .trimEnd()
      .replaceAll(/"[^"]*"/g, 'quoted')
      .split('\n');
    assert.equal(rows.length, 3);
    assert.equal(new Set(rows.map((row) => row.split(',').length)).size, 1);
    const odd = await runTcpx([...words, '--format', 'xml']);
    assert.equal(odd.exitCode, 2);
  });
});
