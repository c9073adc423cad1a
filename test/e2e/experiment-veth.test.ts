// An experiment on a veth pair between two namespaces. The interface has no interrupts, so that its
// matched arms are RPS: each run writes down what the kernel's own file says meanwhile.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { at } from '../../src/base/assert.js';
import { loadRecord } from '../../src/experiment/record.js';
import { boundCpus } from '../../src/experiment/run-checks.js';
import { type NetLab, netLabObstacle, openNetLab } from '../support/net-lab.js';
import { until } from '../support/until.js';
import { runChild } from './child.js';
import { spawnInside } from './spawn-inside.js';

const EXPERIMENT = [process.execPath, 'bin/tcpx.js', 'experiment', 'run'];
const LIMIT_MS = 60_000;
/** What somebody had chosen before: neither the default nor what an arm writes. */
const CHOSEN = 1n;

interface Place {
  readonly lab: NetLab;
  readonly nic: string;
  readonly folder: string;
  readonly file: string;
}

function bits(mask: string): bigint {
  return BigInt(`0x${mask.replaceAll(',', '')}`);
}

/** Packets over the pair, a figure as nccl-tests print it, and what an arm set, in a file. */
function command({ file, folder, lab }: Place, atEnd: string): string {
  const seen = `$(cat ${file}) \${NCCL_GPUDIRECTTCPX_RX_BINDINGS-unset} $UCCL_TCPX_NUM_CHANNELS`;
  // Nobody listens there: what comes back are refusals.
  const knocks = `for i in {1..50}; do : >/dev/tcp/${at(lab.links, 0).rightHost}/9; done`;
  const traffic = `{ ${knocks}; } 2>/dev/null`;
  const figure = 'echo "67108864 16777216 float sum -1 6710 10.0 10.0 0 6400 10.0 10.0 0"';
  return `echo "${seen}" >>${join(folder, 'seen')}; ${traffic}; ${atEnd} ${figure}`;
}

async function inside({ lab }: Place, words: readonly string[]) {
  const [program = '', ...rest] = lab.inside('left', words);
  return runChild(program, rest, { env: process.env });
}

async function maskOf(place: Place): Promise<bigint> {
  return bits((await inside(place, ['cat', place.file])).stdout.trim());
}

function seen({ folder }: Place): readonly string[] {
  try {
    return readFileSync(join(folder, 'seen'), 'utf8').trimEnd().split('\n');
  } catch {
    return [];
  }
}

/** Arms with the mask, the variable and the channels that their command saw. */
async function checkArms(place: Place): Promise<void> {
  const { folder, nic } = place;
  const out = join(folder, 'whole');
  const flags = ['--out', out, '--state', folder, '--nics', nic, '--runs-max', '3', '--seed', '4'];
  const words = [...EXPERIMENT, ...flags, '--', 'bash', '-c', command(place, '')];
  const run = await inside(place, words);
  assert.match(run.stdout, new RegExp(`emulated, 3 rounds.*\\n${nic}: no interrupts.*RPS`));
  assert.equal(run.exitCode, 0, run.stderr);
  const record = loadRecord(out);
  assert.deepEqual([record.placement.kind, record.isEmulated, record.state], ['rps', true, 'done']);
  assert.deepEqual([record.skipped, record.dropped], [[], []]);
  const { rxBindings } = record;
  const matched = boundCpus('', rxBindings).reduce((sum, cpu) => sum | (1n << BigInt(cpu)), 0n);
  assert.notEqual(matched, CHOSEN);
  const expected: Readonly<Record<string, readonly [bigint, string, string]>> = {
    T1: [CHOSEN, 'unset', '1'],
    T2: [CHOSEN, rxBindings, '1'],
    T3: [matched, 'unset', '1'],
    T4: [matched, rxBindings, '1'],
    T5: [matched, rxBindings, '2'],
  };
  const lines = seen(place).map((line) => line.split(' '));
  assert.equal(lines.length, 1 + 3 * 5, 'a warm-up and three rounds of five');
  for (const [index, { arm, figures }] of record.runs.entries()) {
    const [mask = '', ...others] = at(lines, index);
    assert.deepEqual([bits(mask), ...others], expected[arm], `run ${index}, ${arm}`);
    assert.deepEqual(figures.interruptsByNic, {}, 'what does not exist is not counted as 0');
  }
  assert.equal(await maskOf(place), CHOSEN, 'as before, at the end');
  const received = await inside(place, ['cat', `/sys/class/net/${nic}/statistics/rx_packets`]);
  assert.ok(Number(received.stdout) >= 50 * lines.length, `${received.stdout} packets came`);
}

/** A run of a matched arm that is under way: its mask stands. */
async function startBound(t: TestContext, place: Place, out: string) {
  const count = seen(place).length;
  const [found = ''] = at(seen(place), 0).split(' ');
  const slow = `[ "$(cat ${place.file})" = "${found}" ] || exec sleep 20;`;
  const flags = ['--out', out, '--state', place.folder, '--nics', place.nic];
  const words = [...EXPERIMENT, ...flags, '--', 'bash', '-c', command(place, slow)];
  const running = spawnInside(place.lab.inside('left', words), {});
  t.after(() => running.kill());
  const isBound = () =>
    seen(place)
      .slice(count)
      .some((line) => bits(line.split(' ')[0] ?? '') !== CHOSEN);
  await until('an arm with RPS', LIMIT_MS, isBound);
  assert.notEqual(await maskOf(place), CHOSEN);
  return running;
}

test('experiment on veth: RPS in the place of interrupts, put back always', async (t) => {
  const obstacle = netLabObstacle();
  if (obstacle !== undefined) {
    t.skip(obstacle);
    return;
  }
  const lab = openNetLab([0]);
  t.after(() => lab.close());
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-veth-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { leftNic: nic } = at(lab.links, 0);
  const file = `/sys/class/net/${nic}/queues/rx-0/rps_cpus`;
  const place: Place = { lab, nic, folder, file };
  await inside(place, ['sh', '-c', `echo ${CHOSEN.toString(16)} > ${file}`]);
  await checkArms(place);

  const stopped = await startBound(t, place, join(folder, 'stopped'));
  stopped.signal('SIGINT');
  assert.equal(await stopped.end(LIMIT_MS), 130, stopped.stderr());
  assert.equal(await maskOf(place), CHOSEN, 'as before, after Ctrl-C');

  const killed = await startBound(t, place, join(folder, 'killed'));
  killed.signal('SIGKILL');
  assert.equal(await killed.end(LIMIT_MS), null);
  assert.notEqual(await maskOf(place), CHOSEN, 'nobody was there to put it back');
  const resume = [...EXPERIMENT, '--dry-run', '--state', folder, '--resume'];
  const resumed = await inside(place, [...resume, join(folder, 'killed')]);
  assert.equal(resumed.exitCode, 0, resumed.stderr);
  assert.equal(await maskOf(place), CHOSEN, 'as before, after --resume');

  writeFileSync(
    join(folder, 'killed', 'rps-before.json'),
    JSON.stringify([{ path: '/etc/passwd', mask: '1' }]),
  );
  const hostile = await inside(place, [...resume, join(folder, 'killed')]);
  assert.notEqual(hostile.exitCode, 0);
  assert.match(hostile.stderr, /does not hold masks of receive queues/);
});
