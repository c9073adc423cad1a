// What benchmarks leave behind, as a user meets it: runs that are kept, shown, compared, and held
// against limits.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { BenchResult } from '../../src/bench/bench-result.js';
import { benchResult } from '../support/bench-result.js';
import { runTcpx } from './child.js';

const folder = mkdtempSync(join(tmpdir(), 'tcpx-bench-store-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const KEPT = { NIXL_TCPX_BENCH_STORE_DIR: join(folder, 'store'), NIXL_TCPX_BENCH_KEEP: '5' };
const QUICK = ['bench', 'loopback', '--size', '64KiB', '--iters', '30', '--warmup', '1'];

function written(name: string, document: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(document));
  return path;
}

describe('bench: results that are kept', () => {
  test('a run leaves one file with all that it takes to judge it, no secret in it', async () => {
    const { exitCode, stdout, stderr } = await runTcpx([...QUICK, '--json'], KEPT);
    assert.equal(exitCode, 0, stderr);
    const printed = JSON.parse(stdout) as BenchResult;
    const files = readdirSync(KEPT.NIXL_TCPX_BENCH_STORE_DIR);
    assert.deepEqual(files, [`${printed.id}.json`]);
    const text = readFileSync(join(KEPT.NIXL_TCPX_BENCH_STORE_DIR, files[0] ?? ''), 'utf8');
    assert.deepEqual(JSON.parse(text), printed, 'the file is the document that was printed');
    assert.equal(printed.samples?.bandwidthGBps.values.length, 30);
    assert.equal(printed.samples.latencyUs.values.length, 30);
    assert.equal(printed.origins?.['bench.sizeBytes'], 'flag --size');
    assert.deepEqual(printed.command, [...QUICK, '--json']);
    assert.deepEqual(printed.requestDepth?.transfers, 1);
    assert.ok(printed.interrupts !== undefined && printed.load !== undefined);
    assert.ok(Date.parse(printed.recordedAt ?? '') > 0 && printed.warnings !== undefined);
    assert.equal(text.includes('trust.secret"'), false);
  });

  test('bench show lists it, shows it in full and against figures of others', async () => {
    const list = await runTcpx(['bench', 'show'], KEPT);
    assert.match(list.stdout, /^\d{8}-\d{6}-write-[0-9a-f]{6} +64 KiB .* measured +ok$/m);
    const shown = await runTcpx(['bench', 'show', 'latest'], KEPT);
    assert.equal(shown.exitCode, 0, shown.stderr);
    assert.match(shown.stdout, /verified +every byte of 31 iterations/);
    assert.match(shown.stdout, /^engine-2025-2x2 .* suspect$/m);
    assert.match(shown.stdout, /^goal of 5 GB\/s per GPU: (not )?reached \(measured, dram, tcp/m);
  });

  test('a store that cannot be written: the run is good, and the result says so', async () => {
    const env = { ...KEPT, NIXL_TCPX_BENCH_STORE_DIR: '/proc/none' };
    const { exitCode, stdout, stderr } = await runTcpx([...QUICK, '--json'], env);
    assert.equal(exitCode, 0, stderr);
    const { id, warnings } = JSON.parse(stdout) as BenchResult;
    assert.equal(id, undefined);
    assert.match(warnings?.at(-1) ?? '', /^not kept: save \/proc\/none/);
  });

  test('--save-baseline keeps three runs that bench diff and irq baseline take', async () => {
    const { exitCode, stdout, stderr } = await runTcpx(
      [...QUICK, '--save-baseline', 'before', '--json'],
      KEPT,
    );
    assert.equal(exitCode, 0, stderr);
    const { schema, runs, baseline } = JSON.parse(stdout) as {
      schema: string;
      runs: unknown[];
      baseline: string[];
    };
    assert.deepEqual([schema, runs.length, baseline.length], ['tcpx.bench-runs/1', 3, 3]);
    const diff = await runTcpx(['bench', 'diff', 'before', 'before', '--json'], KEPT);
    assert.equal(diff.exitCode, 0, diff.stderr);
    const state = join(folder, 'state');
    const recorded = await runTcpx(['irq', 'baseline', ...baseline, '--state', state, '--json']);
    assert.equal(recorded.exitCode, 0, recorded.stderr);
    assert.equal((JSON.parse(recorded.stdout) as { runs: unknown[] }).runs.length, 3);
  });

  test('fewer than three runs are no baseline', async () => {
    const words = [...QUICK, '--save-baseline', 'x', '--runs', '2'];
    const { exitCode, stderr } = await runTcpx(words, KEPT);
    assert.equal(exitCode, 2);
    assert.match(stderr, /--runs 2: a whole number from 3 /);
  });
});

describe('bench diff', () => {
  const first = written('first.json', benchResult(5));
  const slower = written('slower.json', benchResult(4.5));

  test('a run with itself: same, exit 0', async () => {
    const { exitCode, stdout } = await runTcpx(['bench', 'diff', first, first]);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^same: /);
  });

  test('a tenth less: slower, exit 1, with the interval', async () => {
    const { exitCode, stdout } = await runTcpx(['bench', 'diff', first, slower]);
    assert.equal(exitCode, 1);
    assert.match(stdout, /^slower: by more than 5 %/);
    assert.match(stdout, /^speed +0\.9\d\d× of the first \(95 %: /m);
    const json = await runTcpx(['bench', 'diff', slower, first, '--json']);
    assert.equal(json.exitCode, 0);
    assert.equal((JSON.parse(json.stdout) as { verdict: string }).verdict, 'faster');
  });

  test('what cannot be compared: exit 2 and one line', async () => {
    const pingpong = written('pingpong.json', benchResult(5, { op: 'pingpong' }));
    for (const words of [
      [first],
      [first, pingpong],
      [first, 'nosuch'],
      [first, first, '--margin', '0'],
    ]) {
      const { exitCode, stderr } = await runTcpx(['bench', 'diff', ...words]);
      assert.equal(exitCode, 2, stderr);
      assert.match(stderr, /^ERR_USAGE_ARGUMENT: /);
    }
  });
});

describe('bench: limits decide the exit code', () => {
  test('a figure beyond its limit: exit 1, and which', async () => {
    const limits = ['--fail-below', '0.000001', '--fail-above', 'latency.p50=0.001'];
    const { exitCode, stdout } = await runTcpx([...QUICK, ...limits]);
    assert.equal(exitCode, 1);
    assert.match(stdout, /^ok {2}bandwidth /m);
    assert.match(stdout, /^FAIL {2}latency\.p50 .* may not be above 0\.001$/m);
  });

  test('within the limits: exit 0, verdicts in the document', async () => {
    const { exitCode, stdout } = await runTcpx([...QUICK, '--fail-below', '0.000001', '--json']);
    assert.equal(exitCode, 0);
    const { thresholds } = JSON.parse(stdout) as BenchResult;
    assert.deepEqual(
      thresholds?.map(({ metric, ok }) => [metric, ok]),
      [['bandwidth', true]],
    );
  });

  test('an unknown figure is refused before anything is measured', async () => {
    const { exitCode, stderr } = await runTcpx([...QUICK, '--fail-below', 'speed=3']);
    assert.equal(exitCode, 2);
    assert.match(stderr, /^ERR_USAGE_ARGUMENT: --fail-below: "speed=3": a figure is one of /m);
  });
});
