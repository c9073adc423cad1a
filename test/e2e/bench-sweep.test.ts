// `tcpx bench sweep`: a table, a profile that other commands take, and a sweep that goes on.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { SweepOutcome, SweepRuns } from '../../src/bench/sweep.js';
import { until } from '../support/until.js';
import { runTcpx, TEST_VARIABLES } from './child.js';
import { RunningTcpx } from './running-tcpx.js';

const folder = mkdtempSync(join(tmpdir(), 'tcpx-sweep-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const QUICK = ['--iters', '6', '--warmup', '1'];
const STORE = { NIXL_TCPX_BENCH_STORE_DIR: folder };
const LIMIT_MS = 60_000;

test('bench sweep: a row for each size, and the best settings as a profile', async () => {
  const profile = join(folder, 'best.env');
  const words = ['bench', 'sweep', '--size', '4KiB..16KiB', '--channels', '1,2', '--rounds', '1'];
  const { exitCode, stdout, stderr } = await runTcpx(
    [...words, '--save-profile', profile, ...QUICK],
    STORE,
  );
  assert.equal(exitCode, 0, stderr);
  const sizes = stdout.match(/^(4|8|16) KiB /gm);
  assert.equal(sizes?.length, 3, stdout);
  const [, line = ''] = readFileSync(profile, 'utf8').split('\n');
  const [name = '', value = ''] = line.split('=');
  assert.equal(name, 'NIXL_TCPX_FLOW_CHANNELS');
  assert.ok(stderr.includes(`--profile ${profile}`), stderr);
  const originOf = async (words: string[], variables: Record<string, string>) => {
    const { stdout: text } = await runTcpx(['config', '--json', ...words], variables);
    return /"(environment NIXL_TCPX_FLOW_CHANNELS|profile [^"]*)"/.exec(text)?.[1];
  };
  const read = ['--profile', profile];
  assert.equal(await originOf(read, {}), `profile ${profile}`);
  assert.equal(await originOf(read, { [name]: value }), `environment ${name}`);
});

test('bench sweep: interrupted, the same line goes on and does not measure twice', async (t) => {
  const axes = ['--size', '4KiB..64KiB', '--channels', '1,2', '--rounds', '1'];
  const words = ['bench', 'sweep', ...axes, ...QUICK, '--json'];
  const sweep = new RunningTcpx(words, { ...TEST_VARIABLES, ...STORE });
  t.after(() => sweep.kill());
  const sweeps = join(folder, 'sweeps');
  const saved = () => {
    try {
      const [name = ''] = readdirSync(sweeps).filter((one) => one.endsWith('.json'));
      return (JSON.parse(readFileSync(join(sweeps, name), 'utf8')) as { runs: SweepRuns }).runs;
    } catch {
      return {};
    }
  };
  const hasEnded = () => sweep.child.exitCode !== null;
  const isMidway = () => Object.keys(saved()).length >= 2 || hasEnded();
  await until('two points are measured', LIMIT_MS, isMidway);
  assert.equal(hasEnded(), false, sweep.stderr);
  sweep.child.kill('SIGINT');
  assert.equal(await sweep.end(LIMIT_MS), 4, sweep.stderr);
  const before = saved();
  const told = JSON.parse(sweep.stdout) as {
    partial: string;
    runs: SweepRuns;
    outcomes: unknown[];
  };
  assert.equal(told.partial, 'stopped by the user');
  assert.deepEqual(told.runs, before);
  assert.ok(told.outcomes.length > 0);
  const { exitCode, stdout, stderr } = await runTcpx(words, STORE);
  assert.equal(exitCode, 0, stderr);
  const { outcomes, runs } = JSON.parse(stdout) as { outcomes: SweepOutcome[]; runs: SweepRuns };
  assert.equal(outcomes.length, 5);
  for (const [key, list] of Object.entries(before)) assert.deepEqual(runs[key], list, key);
  assert.deepEqual(readdirSync(sweeps), [], 'nothing is left of a sweep that ended');
});

test('bench sweep: nothing to vary, or no values: exit 2', async () => {
  for (const flags of [
    [],
    ['--channels', '1..99'],
    ['--size', '8K..4K'],
    ['--rounds', '0', '--size', '1'],
  ]) {
    const { exitCode, stderr } = await runTcpx(['bench', 'sweep', ...flags]);
    assert.equal(exitCode, 2, stderr);
  }
});
