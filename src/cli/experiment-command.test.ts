// `tcpx experiment` as a person runs it: dry, interrupted, resumed, reported.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { benchResult } from '../../test/support/bench-result.js';
import { runTcpx } from '../../test/support/run-tcpx.js';
import { until } from '../../test/support/until.js';
import { ResultStore } from '../bench/result-store.js';
import { builtInPlan } from '../experiment/built-in-plans.js';
import { loadRecord } from '../experiment/record.js';
import { baselineProblem } from '../host/irq/baseline.js';
import { parsePerfStat, remoteAccesses } from './experiment-counters.js';
import { armEnvironment } from './experiment-perform.js';
import { keptResult } from './kept-result.js';

const folder = mkdtempSync(join(tmpdir(), 'tcpx-experiment-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const TCPX = fileURLToPath(new URL('../../../bin/tcpx.js', import.meta.url));

/** Prints a figure as nccl-tests do: the arms differ by an environment variable. */
const PLAN = `
name = "fake"
title = "Two figures"
command = ["sh", "-c", "echo \\"67108864 16777216 float sum -1 6710 $F $F 0 6400 $F $F 0\\""]
seconds = 0.1
[[arm]]
name = "slow"
[arm.environment]
F = "10.0"
[[arm]]
name = "fast"
[arm.environment]
F = "12.5"
`;

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

test('experiment run: interrupted and resumed, it ends in a decision and a page', async () => {
  const plan = join(folder, 'fake.toml');
  writeFileSync(plan, PLAN);
  const out = join(folder, 'out');
  const flags = ['--out', out, '--state', join(folder, 'state'), '--nics', 'lo', '--seed', '5'];
  const child = spawn(process.execPath, [TCPX, 'experiment', 'run', plan, ...flags], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let notes = '';
  child.stderr.on('data', (bytes: Buffer) => {
    notes += bytes.toString();
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await until('the first round', 30_000, () => notes.includes('round 1'));
  child.kill('SIGINT');
  assert.equal(await ended, 130, notes);
  assert.match(notes, /everything is as before.*--resume/);
  assert.equal(loadRecord(out).state, 'interrupted');
  const resumed = runTcpx(['experiment', 'run', '--resume', out, '--state', join(folder, 'state')]);
  assert.equal(resumed.status, 0, resumed.stderr);
  assert.match(resumed.stdout, /decision A: fast is faster by \+25\.0 %/);
  const noBaseline = baselineProblem(join(folder, 'state'), loadRecord(out).hostname);
  assert.match(noBaseline ?? '', /no baseline is recorded/, 'loopback is no state of this host');
  const { status } = runTcpx(['experiment', 'report', out]);
  assert.equal(status, 0);
  const again = runTcpx(['experiment', 'run', plan, ...flags]);
  assert.equal(again.status, 2);
  assert.match(again.stderr, /holds an experiment already: --resume .* goes on with it/);
  assert.deepEqual([modeOf(out), modeOf(join(out, 'experiment.json'))], [0o700, 0o600]);
  assert.match(readFileSync(join(out, 'IRQ_BINDING_RESULTS.md'), 'utf8'), /^# Two figures\n/);
});

test('experiment run --dry-run: runs, order and time; nothing is written', () => {
  const out = join(folder, 'dry');
  const words = ['experiment', 'run', '--dry-run', '--json', '--seed', '7', '--out', out];
  const { status, stdout } = runTcpx([...words, '--state', join(folder, 'none')]);
  assert.equal(status, 0);
  const dry = JSON.parse(stdout) as Record<string, unknown> & { order: string[][] };
  assert.equal(dry['runsMin'], 1 + 3 * (dry['arms'] as string[]).length);
  assert.equal(dry.order.length, 3);
  assert.ok((dry['secondsMin'] as number) < (dry['secondsMax'] as number));
  assert.ok(!existsSync(out));
  const short = runTcpx([...words, '--seconds', '0.5']);
  assert.equal(short.status, 2);
  assert.match(short.stderr, /--seconds 0\.5: tcpx bench measures whole seconds/);
});

test('experiment run: provider and plugin that are named are those of its own command', () => {
  const words = ['experiment', 'run', 'nic-ab', '--nics', 'eth1,eth2', '--dry-run'];
  const plugin = ['--provider', 'tcpx', '--plugin', '/opt/net.so'];
  const own = runTcpx([...words, ...plugin]);
  assert.match(
    own.stdout,
    /^nic-ab: tcpx bench loopback .* --provider tcpx --plugin \/opt\/net\.so$/m,
  );
  const other = runTcpx([...words, ...plugin, '--', 'true']);
  assert.match(other.stdout, /^nic-ab: true$/m);
});

test('arm environment: T1 has no binding variable whatever this shell has', () => {
  const shell = {
    NCCL_GPUDIRECTTCPX_TX_BINDINGS: 'eth1:1-2',
    NCCL_GPUDIRECTTCPX_RX_BINDINGS: 'eth1:3-4',
    NCCL_GPUDIRECTTCPX_WORKER_PIN_THREADS: '1',
    NIXL_TCPX_LANE_BINDINGS: 'eth1:1',
    NCCL_ALGO: 'Ring',
  };
  const bound = { nics: ['eth1'], txBindings: 'eth1:8-9', rxBindings: 'eth1:10-11' };
  const [t1, t2] = builtInPlan('irq-binding', []).arms;
  assert.ok(t1 !== undefined && t2 !== undefined);
  assert.deepEqual(armEnvironment(t1, bound, shell), {
    NCCL_ALGO: 'Ring',
    UCCL_TCPX_NUM_CHANNELS: '1',
  });
  assert.equal(armEnvironment(t2, bound, shell)['NCCL_GPUDIRECTTCPX_TX_BINDINGS'], 'eth1:8-9');
});

test('perf stat: counts by event; what the CPU does not have is left out', () => {
  const text = '# started\n14146;;context-switches:u;1;100\n<not supported>;;cache-misses;0;0\n';
  assert.deepEqual([...parsePerfStat(text)], [['context-switches', 14146]]);
  const loads = '5;;node-load-misses;1;100\n';
  assert.equal(remoteAccesses(parsePerfStat(loads)), null, 'stores are not known to be none');
  assert.equal(remoteAccesses(parsePerfStat(`${loads}7;;node-store-misses;1;100\n`)), 12);
});

test('kept result: of several runs the one in the middle, of a part of a group none', async () => {
  const place = join(folder, 'store');
  const store = new ResultStore(place, 10);
  const ids = [3, 9, 5].map((rate) => store.save(benchResult(rate)).id ?? '');
  const pair = { group: { pattern: 'mesh', member: 0, members: 2 } } as const;
  const mesh = store.save(benchResult(7, pair)).id ?? '';
  const resultOf = await keptResult(['tcpx', 'bench', 'loopback', '--store', place], {});
  const kept = (...names: string[]) =>
    resultOf(`figures\nkept as ${names.join(', ')} (tcpx bench show)\n`);
  assert.equal((JSON.parse(kept(...ids) ?? '') as { id: string }).id, ids[2]);
  assert.equal((JSON.parse(kept(ids[1] ?? '') ?? '') as { id: string }).id, ids[1]);
  assert.equal(kept(mesh), undefined);
  assert.equal(kept('gone'), undefined);
  assert.equal(resultOf('nothing was kept'), undefined);
});
