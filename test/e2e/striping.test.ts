// One session striped over four rate-limited links between two network namespaces: each NIC carries
// its share, by the receipt and by the kernel's own counters, and the links add up.

import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import type { BenchResult } from '../../src/bench/bench-result.js';
import type { ChannelReceipt, Receipt } from '../../src/provider/receipt.js';
import { type NetLab, netLabObstacle, openNetLab } from '../support/net-lab.js';
import { packageRoot, runChild } from './child.js';

const SECRET = { NIXL_TCPX_TRUST_SECRET: 'a secret for the links' };
const PORT = '20100';
const MBIT = 1e6 / 8;
const SERVER_START_MS = 10_000;

interface LinkCounters {
  readonly ifname: string;
  readonly stats64: { readonly rx: { bytes: number }; readonly tx: { bytes: number } };
}

function openLab(t: TestContext, ratesMbit: readonly number[]): NetLab | undefined {
  const obstacle = netLabObstacle();
  if (obstacle !== undefined) {
    t.skip(obstacle);
    return undefined;
  }
  const lab = openNetLab(ratesMbit);
  t.after(() => lab.close());
  return lab;
}

/** Bytes received and sent by each interface of a namespace. */
function countersOf(space: string): Map<string, { rx: number; tx: number }> {
  const text = execFileSync('ip', ['-n', space, '-s', '-j', 'link'], { encoding: 'utf8' });
  const links = JSON.parse(text) as LinkCounters[];
  return new Map(
    links.map(({ ifname, stats64 }) => [ifname, { rx: stats64.rx.bytes, tx: stats64.tx.bytes }]),
  );
}

async function startServer(t: TestContext, lab: NetLab, nics: string): Promise<ChildProcess> {
  const words = ['bench', 'server', '--once', '--json', '--port', PORT, '--nics', nics];
  const [program = '', ...rest] = lab.inside('right', [process.execPath, 'bin/tcpx.js', ...words]);
  const server = spawn(program, rest, {
    cwd: packageRoot,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...SECRET },
  });
  t.after(() => server.kill('SIGKILL'));
  await once(server.stdout, 'data', { signal: AbortSignal.timeout(SERVER_START_MS) });
  return server;
}

function runClient(lab: NetLab, nics: string, flags: readonly string[], to?: string) {
  const host = to ?? lab.links[0]?.rightHost ?? '';
  const words = ['bench', 'client', host, '--port', PORT, '--nics', nics, '--json', ...flags];
  const command = lab.inside('left', [process.execPath, 'bin/tcpx.js', ...words]);
  const [program = '', ...rest] = command;
  return runChild(program, rest, { env: { ...process.env, ...SECRET }, timeoutMs: 30_000 });
}

interface Striped {
  readonly result: BenchResult;
  readonly channels: readonly ChannelReceipt[];
  /** Share of all bytes that each link carried, by receipt and by the kernel's counters. */
  readonly receiptShares: readonly number[];
  readonly counterShares: readonly number[];
  readonly bytesPerSecond: number;
}

async function runStriped(t: TestContext, lab: NetLab, sizeMiB: number): Promise<Striped> {
  const left = lab.links.map((link) => link.leftNic);
  const right = lab.links.map((link) => link.rightNic);
  const server = await startServer(t, lab, right.join(','));
  const before = countersOf(lab.right);
  const run = ['--size', `${sizeMiB}MiB`, '--iters', '2', '--warmup', '1', '--channels', '4'];
  run.push('--warmup-seconds', '0');
  const client = await runClient(lab, left.join(','), [...run, '--congestion', 'cubic']);
  assert.equal(client.exitCode, 0, client.stderr);
  const after = countersOf(lab.right);
  if (server.exitCode === null) await once(server, 'exit', { signal: AbortSignal.timeout(5000) });
  assert.equal(server.exitCode, 0, 'the server ends after its one client');
  const result = JSON.parse(client.stdout) as BenchResult;
  const { channels } = result.receipt as Receipt;
  const received = right.map((nic) => (after.get(nic)?.rx ?? 0) - (before.get(nic)?.rx ?? 0));
  const carried = left.map((nic) => channels.find((channel) => channel.nic === nic)?.bytes ?? 0);
  return {
    result,
    channels,
    receiptShares: sharesOf(carried),
    counterShares: sharesOf(received),
    bytesPerSecond: result.bandwidthGBps.p50 * 1e9,
  };
}

function sharesOf(amounts: readonly number[]): number[] {
  const sum = amounts.reduce((total, amount) => total + amount, 0);
  return amounts.map((amount) => amount / sum);
}

function assertVerified(result: BenchResult): void {
  assert.equal(result.ok, true);
  assert.deepEqual(result.verified, { iterations: 3, mismatches: 0 });
  assert.equal(result.config['socket.congestion'], 'cubic');
  assert.equal(result.host.congestion, 'cubic');
}

function assertBetween(what: string, value: number, low: number, high: number): void {
  const shown = `${what}: ${value.toFixed(3)}, expected ${low.toFixed(3)} … ${high.toFixed(3)}`;
  assert.ok(value >= low && value <= high, shown);
}

test('striping: four equal links share the bytes and add up', async (t) => {
  const rateMbit = 200;
  const lab = openLab(t, [rateMbit, rateMbit, rateMbit, rateMbit]);
  if (lab === undefined) return;
  const striped = await runStriped(t, lab, 96);
  assertVerified(striped.result);
  assert.deepEqual(
    striped.channels.map((channel) => channel.nic),
    lab.links.map((link) => link.leftNic),
    'one channel on each NIC, in order',
  );
  for (const [index, share] of striped.receiptShares.entries()) {
    assertBetween(`receipt of link ${index}`, share, 0.2, 0.3);
    assertBetween(`counter of link ${index}`, striped.counterShares[index] ?? 0, 0.2, 0.3);
  }
  const linkRate = rateMbit * MBIT;
  const ratio = striped.bytesPerSecond / linkRate;
  t.diagnostic(`${ratio.toFixed(2)} × one link; shares ${format(striped)}`);
  // More than the wire takes would mean that bytes went another way.
  assertBetween('bandwidth in links', ratio, 3.2, 4.2);
});

test('striping: unequal links carry what they can, the slow ones hold nobody up', async (t) => {
  const ratesMbit = [200, 200, 100, 50];
  const lab = openLab(t, ratesMbit);
  if (lab === undefined) return;
  const striped = await runStriped(t, lab, 96);
  assertVerified(striped.result);
  const sumMbit = ratesMbit.reduce((sum, rate) => sum + rate, 0);
  for (const [index, rateMbit] of ratesMbit.entries()) {
    const due = rateMbit / sumMbit;
    const counted = striped.counterShares[index] ?? 0;
    assertBetween(
      `receipt of link ${index}`,
      striped.receiptShares[index] ?? 0,
      due * 0.7,
      due * 1.4,
    );
    assertBetween(`counter of link ${index}`, counted, due * 0.7, due * 1.4);
  }
  const ratio = striped.bytesPerSecond / (sumMbit * MBIT);
  t.diagnostic(`${ratio.toFixed(2)} of the sum; shares ${format(striped)}`);
  // Heads of Ethernet, IP and TCP take 4.4 % of the nominal rate.
  assertBetween('bandwidth in sums of links', ratio, 0.85, 1.05);
});

/** Takes one family of addresses away from every link of one end. */
function flush(lab: NetLab, end: 'left' | 'right', family: '-4' | '-6'): void {
  for (const { leftNic, rightNic } of lab.links) {
    const nic = end === 'left' ? leftNic : rightNic;
    execFileSync('ip', ['-n', lab[end], family, 'addr', 'flush', 'dev', nic, 'scope', 'global']);
  }
}

test('striping: two NICs over IPv6 alone share the bytes, each link its channel', async (t) => {
  const lab = openLab(t, [0, 0]);
  if (lab === undefined) return;
  flush(lab, 'left', '-4');
  flush(lab, 'right', '-4');
  const right = lab.links.map(({ rightNic }) => rightNic).join(',');
  const left = lab.links.map(({ leftNic }) => leftNic);
  await startServer(t, lab, right);
  const before = countersOf(lab.right);
  const flags = ['--channels', '2', '--size', '16MiB', '--iters', '2', '--warmup', '1'];
  const to = lab.links[0]?.rightHost6;
  const client = await runClient(lab, left.join(','), flags, to);
  assert.equal(client.exitCode, 0, client.stderr);
  const { channels } = (JSON.parse(client.stdout) as BenchResult).receipt as Receipt;
  assert.deepEqual(
    channels.map(({ nic }) => nic),
    left,
  );
  const after = countersOf(lab.right);
  for (const { rightNic } of lab.links) {
    const received = (after.get(rightNic)?.rx ?? 0) - (before.get(rightNic)?.rx ?? 0);
    assert.ok(received > 1_000_000, `${rightNic} received ${received} bytes`);
  }
});

test('striping: a NIC without an address of the peer’s family is named', async (t) => {
  const lab = openLab(t, [0, 0]);
  if (lab === undefined) return;
  const right = lab.links.map(({ rightNic }) => rightNic).join(',');
  const left = lab.links.map(({ leftNic }) => leftNic).join(',');
  const to = lab.links[0]?.rightHost6;
  await startServer(t, lab, right);
  const second = lab.links[1];
  const drop = (space: string, nic = ''): void => {
    const words = ['-n', space, '-6', 'addr', 'flush', 'dev', nic, 'scope', 'global'];
    execFileSync('ip', words);
  };
  drop(lab.left, second?.leftNic);
  const flags = ['--channels', '2', '--size', '1MiB'];
  const own = await runClient(lab, left, flags, to);
  assert.match(own.stderr, /^ERR_CONFIG_VALUE: interface tl1: has no IPv6 address/);
  assert.notEqual(own.exitCode, 0);
  execFileSync('ip', ['-n', lab.left, 'addr', 'add', 'fd77:1::1/64', 'dev', 'tl1', 'nodad']);
  drop(lab.right, second?.rightNic);
  const far = await runClient(lab, left, flags, to);
  assert.match(far.stderr, /interface tr1: has no IPv6 address/);
  assert.notEqual(far.exitCode, 0);
});

test('striping: a NIC that does not exist is named, at either end', async (t) => {
  const lab = openLab(t, [0]);
  if (lab === undefined) return;
  await startServer(t, lab, lab.links[0]?.rightNic ?? '');
  const client = await runClient(lab, 'tl0,absent7', ['--channels', '2', '--size', '1MiB']);
  assert.ok(client.exitCode === 2 || client.exitCode === 4, `exit ${client.exitCode}`);
  assert.match(client.stderr, /^ERR_\S+: .*absent7/);
  assert.equal(client.stderr.trimEnd().split('\n').length, 1, client.stderr);
  const words = ['bench', 'server', '--once', '--port', '20101', '--nics', 'absent8'];
  const command = lab.inside('right', [process.execPath, 'bin/tcpx.js', ...words]);
  const [program = '', ...rest] = command;
  const server = await runChild(program, rest, { timeoutMs: 5000 });
  assert.ok(server.exitCode === 2 || server.exitCode === 4, `exit ${server.exitCode}`);
  assert.match(server.stderr, /^ERR_\S+: .*absent8/);
});

function format({ receiptShares, counterShares }: Striped): string {
  const percent = (shares: readonly number[]): string =>
    shares.map((share) => `${(share * 100).toFixed(1)} %`).join(' ');
  return `${percent(receiptShares)} by receipt, ${percent(counterShares)} by counter`;
}
