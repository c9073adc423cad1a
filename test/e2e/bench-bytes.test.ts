// Bytes of a benchmark against what the kernels counted, between two namespaces with four links.
//
// Words between the ends have one length, so all that passes in the measured part is known to the
// byte: transfers with a head for each chunk, two words for each group of iterations (some 200 ms),
// and one that asks for the counters; the other end's words are acknowledged by a head each.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isInstalled } from '../../src/base/installed.js';
import type { BenchResult } from '../../src/bench/bench-result.js';
import type { CompareOutcome } from '../../src/bench/compare/compare-run.js';
import type { SweepRuns } from '../../src/bench/sweep.js';
import { wireBytesOf } from '../../src/bench/wire-bytes.js';
import type { Receipt } from '../../src/engine/internal.js';
import { DATA_HEAD_BYTES } from '../../src/wire/data-frame.js';
import { emulatorVariables, requireNative } from '../native/plugin-environment.js';
import { type NetLab, netLabObstacle, openNetLab } from '../support/net-lab.js';
import { until } from '../support/until.js';
import { packageRoot, runChild, TEST_VARIABLES } from './child.js';
import { spawnInside } from './spawn-inside.js';

const SECRET = { ...TEST_VARIABLES, NIXL_TCPX_TRUST_SECRET: 'a secret for the four links' };
const PORT = '20120';
const SIZE = 256 * 1024;
const COUNT = 20;
/** A word with its head, and the head that acknowledges the answer. */
const WORD_BYTES = 2048 + 2 * DATA_HEAD_BYTES;
const SEGMENT_BYTES = 1448;
const BIG = 4 * 1024 * 1024;
const BIG_COUNT = 3;
const START_MS = 30_000;
const TCPX = [process.execPath, 'bin/tcpx.js', 'bench'];
/** Ethernet, IPv4 and TCP with time stamps: what an interface counts of a packet besides. */
const HEADERS_BYTES = 14 + 20 + 32;

async function measure(
  lab: NetLab,
  nics: readonly string[],
  flags: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<BenchResult> {
  const host = lab.links[0]?.rightHost ?? '';
  const words = [...TCPX, 'client', host, '--port', PORT, '--nics', nics.join(), '--json'];
  const shape = ['--warmup', '2', '--warmup-seconds', '0', ...flags];
  const [program = '', ...rest] = lab.inside('left', [...words, ...shape]);
  const run = await runChild(program, rest, { env: { ...process.env, ...env }, cwd: packageRoot });
  assert.equal(run.exitCode, 0, run.stderr);
  return JSON.parse(run.stdout) as BenchResult;
}

function sumOf<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}

/** What left or reached these interfaces, less the headers of packets. */
function payloadOf({ kernel, op }: BenchResult, nics: readonly string[]): number {
  const way = op === 'read' ? 'rx' : 'tx';
  return sumOf(nics, (nic) => {
    const counts = kernel?.nics[nic];
    // Interfaces on which nothing moved are left out of a result.
    if (counts === undefined) return 0;
    const [bytes = Number.NaN, packets = Number.NaN] = ['bytes', 'packets'].map(
      (what) => counts[`${way}_${what}`],
    );
    return bytes - HEADERS_BYTES * packets;
  });
}

/** Transfers of `bytes` in all, so many chunks; the rest is words, of whole groups. */
function assertWords(what: string, wire: number, bytes: number, chunks: number): void {
  const words = wire - bytes - chunks * DATA_HEAD_BYTES;
  const groups = (words / WORD_BYTES - 1) / 2;
  assert.ok(Number.isInteger(groups) && groups >= 1, `${what}: ${words} bytes besides the data`);
}

/** Both kernels to the byte, the interfaces within 1 %. */
function assertRun(run: BenchResult, nics: readonly string[]): void {
  const { op, iterations, bytesMoved = Number.NaN } = run;
  const { acknowledged, received } = wireBytesOf(run);
  const { channels } = run.receipt as Receipt;
  const chunks = iterations * sumOf(channels, (one) => one.chunks);
  assertWords(`${op}: received`, received, bytesMoved, chunks);
  // A reader's kernel acknowledges the end of a channel's last answer late, of the warm-up's too.
  const late = received - acknowledged;
  const lateMax = op === 'read' ? channels.length * SEGMENT_BYTES : 0;
  assert.ok(Math.abs(late) <= lateMax, `${op}: ${late} bytes not acknowledged`);
  assertNear(`${op}: interfaces`, payloadOf(run, nics) / acknowledged);
}

function assertNear(what: string, share: number): void {
  assert.ok(Math.abs(share - 1) < 0.01, `${what}: ${share} of TCP_INFO`);
}

type Environment = Readonly<Record<string, string>>;

async function serve(t: TestContext, lab: NetLab, words: readonly string[], env: Environment) {
  const server = spawnInside(lab.inside('right', [...TCPX, 'server', '--json', ...words]), env);
  t.after(() => server.kill());
  await until('the server listens', START_MS, () => server.stdout().includes('"port"'));
  return server;
}

async function checkTcp(t: TestContext, lab: NetLab): Promise<void> {
  const left = lab.links.map(({ leftNic }) => leftNic);
  const right = lab.links.map(({ rightNic }) => rightNic);
  const server = await serve(t, lab, ['--port', PORT, '--nics', right.join()], SECRET);
  const flags = ['--size', String(SIZE), '--verify', 'none', '--iters', String(COUNT)];
  for (const op of ['write', 'read']) {
    const run = await measure(lab, left, [...flags, '--channels', '4', '--op', op], SECRET);
    assert.equal(run.bytesMoved, COUNT * SIZE);
    assertRun(run, left);
  }
  await checkSweep(lab, left);
  await checkCompare(t, lab, left);
  server.kill();
}

/** Against a target elsewhere: each run to the byte, all of them by the interfaces. */
async function checkSweep(lab: NetLab, left: readonly string[]): Promise<void> {
  const host = lab.links[0]?.rightHost ?? '';
  const axes = ['--size', `${SIZE},${2 * SIZE}`, '--rounds', '1', '--iters', String(COUNT)];
  const shape = ['--nics', left.join(), '--verify', 'none', '--warmup', '0', '--channels', '1'];
  const words = [...TCPX, 'sweep', host, '--port', PORT, ...axes, ...shape, '--json'];
  const before = sumOf(left, (nic) => sentBy(lab, nic));
  const [program = '', ...rest] = lab.inside('left', words);
  const env = { ...process.env, ...SECRET };
  const { exitCode, stdout, stderr } = await runChild(program, rest, { env, cwd: packageRoot });
  const sent = sumOf(left, (nic) => sentBy(lab, nic)) - before;
  assert.equal(exitCode, 0, stderr);
  const runs = Object.values((JSON.parse(stdout) as { runs: SweepRuns }).runs).flat();
  assert.equal(runs.length, 2);
  for (const { bytes, wireBytes } of runs) {
    assertWords('sweep: confirmed', wireBytes.acknowledged, bytes, COUNT);
    assertWords('sweep: received', wireBytes.received, bytes, COUNT);
  }
  assertNear('sweep: interfaces', sent / sumOf(runs, ({ wireBytes }) => wireBytes.acknowledged));
}

function sentBy(lab: NetLab, nic: string): number {
  const folder = `/sys/class/net/${nic}/statistics`;
  const files = [`${folder}/tx_bytes`, `${folder}/tx_packets`];
  const [program = '', ...words] = lab.inside('left', ['cat', ...files]);
  const { stdout } = spawnSync(program, words, { encoding: 'utf8' });
  const [bytes = Number.NaN, packets = Number.NaN] = stdout.trim().split('\n').map(Number);
  return bytes - HEADERS_BYTES * packets;
}

/** Against iperf3 there, until Ctrl-C in the second round. */
async function checkCompare(t: TestContext, lab: NetLab, left: readonly string[]): Promise<void> {
  if (!isInstalled('iperf3', process.env)) {
    t.diagnostic('bench compare was not run: needs iperf3');
    return;
  }
  const peers = spawnInside(lab.inside('right', ['iperf3', '-s', '--forceflush']), {});
  t.after(() => peers.kill());
  const host = lab.links[0]?.rightHost ?? '';
  const shape = ['--size', String(SIZE), '--nics', left.join(), '--channels', '4'];
  const turns = ['--rounds', '1000', '--turn-seconds', '0', '--json'];
  const words = [...TCPX, 'compare', host, '--port', PORT, ...shape, ...turns];
  const compare = spawnInside(lab.inside('left', words), SECRET);
  t.after(() => compare.kill());
  const tests = () => peers.stdout().split('Accepted connection').length - 1;
  await until('the second round begins', START_MS, () => tests() > 3);
  compare.signal('SIGINT');
  assert.equal(await compare.end(START_MS), 4, compare.stderr());
  peers.kill();
  const outcome = JSON.parse(compare.stdout()) as CompareOutcome;
  assert.deepEqual([outcome.partial, outcome.failed], ['stopped by the user', []]);
  assert.deepEqual(
    outcome.rows.map(({ work, ratio }) => [work, ratio.pairs]),
    ['write', 'write', 'read'].map((work) => [work, 1]),
  );
  assert.deepEqual(
    outcome.own.map(({ op }) => op),
    ['write', 'read'],
  );
  for (const run of outcome.own) assertRun(run, left);
}

/** The same through the plugin's emulator, over the second NIC alone. */
async function checkPlugin(t: TestContext, lab: NetLab): Promise<void> {
  const [, second] = lab.links;
  assert.ok(second !== undefined);
  const stateDir = mkdtempSync(join(tmpdir(), 'tcpx-bytes-'));
  t.after(() => rmSync(stateDir, { recursive: true, force: true }));
  // The NICs of the host, not those that the emulator would invent.
  const { TCPX_EMU_NICS: invented, ...variables } = emulatorVariables;
  assert.ok(invented !== '');
  const env = { ...SECRET, ...variables, NIXL_TCPX_TCPX_STATE_DIR: stateDir };
  const plugin = ['--plugin', 'emulator'];
  const words = ['--port', PORT, '--once', '--nics', second.rightNic, ...plugin];
  const target = await serve(t, lab, words, env);
  const flags = [...plugin, '--size', String(BIG), '--iters', String(BIG_COUNT)];
  const result = await measure(lab, [second.leftNic], flags, env);
  assert.equal(await target.end(START_MS), 0, target.stderr());
  assert.deepEqual([result.provider, result.evidence, result.ok], ['tcpx', 'emulated', true]);
  assert.equal(result.devmem?.verdict, 'good', 'counted without a word about where');
  assert.doesNotMatch(target.stderr(), /rx no cmsg/);
  const share = payloadOf(result, [second.leftNic]) / (BIG_COUNT * BIG);
  assert.ok(Math.abs(share - 1) < 0.01, `interfaces: ${share} of what was moved`);
}

test('bench bytes: TCP_INFO to the byte, interfaces within 1 %; the plugin too', async (t) => {
  const obstacle = netLabObstacle();
  if (obstacle !== undefined) {
    t.skip(obstacle);
    return;
  }
  requireNative();
  const lab = openNetLab([1000, 1000, 1000, 1000]);
  t.after(() => lab.close());
  await checkTcp(t, lab);
  await checkPlugin(t, lab);
});
