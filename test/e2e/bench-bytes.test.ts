// Bytes of a benchmark against what the kernels counted, between two namespaces with four links.
//
// Of a run with twice the iterations the same words pass between the ends as of one with N: filling
// and checking are off, and N fits one group. So what the connections' TCP_INFO counted more in the
// second is N transfers and the heads of their frames, to the byte.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { BenchResult } from '../../src/bench/bench-result.js';
import type { Receipt } from '../../src/engine/internal.js';
import { DATA_HEAD_BYTES } from '../../src/wire/data-frame.js';
import { emulatorVariables, requireNative } from '../native/plugin-environment.js';
import { type NetLab, netLabObstacle, openNetLab } from '../support/net-lab.js';
import { until } from '../support/until.js';
import { packageRoot, runChild, TEST_VARIABLES } from './child.js';
import { spawnInside } from './spawn-inside.js';

const SECRET = { ...TEST_VARIABLES, NIXL_TCPX_TRUST_SECRET: 'a secret for the four links' };
const PORT = '20120';
const SIZE = 512 * 1024;
/** Iterations without a check that last longer are two groups, with more words between the ends. */
const GROUP_MS = 180;
const TRIES = 8;
const BIG = 4 * 1024 * 1024;
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

/** What left these interfaces, less the headers of packets. */
function payloadOf({ kernel }: BenchResult, nics: readonly string[]): number {
  return sumOf(nics, (nic) => {
    const counts = kernel?.nics[nic];
    // Interfaces on which nothing moved are left out of a result.
    if (counts === undefined) return 0;
    const { tx_bytes: bytes = Number.NaN, tx_packets: packets = Number.NaN } = counts;
    return bytes - HEADERS_BYTES * packets;
  });
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
  const flags = ['--size', String(SIZE), '--verify', 'none', '--channels', '4'];
  const inOneGroup = async (iterations: number): Promise<BenchResult> => {
    for (let tries = 0; tries < TRIES; tries++) {
      const run = await measure(lab, left, [...flags, '--iters', String(iterations)], SECRET);
      const { fromMs = 0, toMs = Number.NaN } = run.window ?? {};
      if (toMs - fromMs < GROUP_MS) return run;
    }
    throw new Error(`no run of ${iterations} iterations within ${GROUP_MS} ms`);
  };
  const once = await inOneGroup(10);
  const twice = await inOneGroup(20);
  server.kill();
  assert.deepEqual([once.bytesMoved, twice.bytesMoved], [10 * SIZE, 20 * SIZE]);
  const acked = ({ kernel }: BenchResult) =>
    sumOf(kernel?.channels ?? [], ({ bytesAcked }) => bytesAcked);
  const received = ({ kernel }: BenchResult) =>
    sumOf(kernel?.peerChannels ?? [], ({ bytesReceived }) => bytesReceived);
  const { channels } = once.receipt as Receipt;
  const framed = SIZE + sumOf(channels, ({ chunks }) => chunks) * DATA_HEAD_BYTES;
  assert.equal(acked(twice) - acked(once), 10 * framed, 'the initiator’s kernel: confirmed');
  assert.equal(received(twice) - received(once), 10 * framed, 'the target’s kernel: received');
  for (const run of [once, twice]) {
    const share = payloadOf(run, left) / acked(run);
    assert.ok(Math.abs(share - 1) < 0.01, `interfaces: ${share} of TCP_INFO`);
  }
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
  const flags = [...plugin, '--size', String(BIG), '--iters', '10'];
  const result = await measure(lab, [second.leftNic], flags, env);
  assert.equal(await target.end(START_MS), 0, target.stderr());
  assert.deepEqual([result.provider, result.evidence, result.ok], ['tcpx', 'emulated', true]);
  assert.doesNotMatch(target.stderr(), /rx no cmsg/);
  const share = payloadOf(result, [second.leftNic]) / (10 * BIG);
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
