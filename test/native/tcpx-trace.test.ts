// Call traces of real runs: the same calls on every NIC and in either order of NICs; every chunk
// through its steps; progress on every channel after every post; windows kept.

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import {
  diffTraces,
  parseTrace,
  type TraceLine,
} from '../../src/provider/tcpx/trace/trace-file.js';
import { summarizeTrace } from '../../src/provider/tcpx/trace/trace-summary.js';
import { until } from '../support/until.js';
import {
  closeProviders,
  epochsOf,
  makeMemory,
  openPair,
  railsOf,
  type Settings,
  temporaryFolder,
  wholeBlock,
} from './tcpx-pair.js';

after(closeProviders);

const MIB = 1024 * 1024;

/** Traces of one write of 20 MiB and one read, by `role-nic`. */
async function traceRun(nics: string, settings: Settings = {}): Promise<Map<string, TraceLine[]>> {
  const folder = join(temporaryFolder(), 'traces');
  mkdirSync(folder);
  const pair = await openPair({
    settings: { 'session.nics': nics, 'tcpx.traceDir': folder, ...settings },
  });
  const local = makeMemory(pair.initiator, 20 * MIB);
  const remote = makeMemory(pair.target, 20 * MIB);
  await pair.session.write(wholeBlock(local, remote)).done;
  await pair.session.read(wholeBlock(local, remote)).done;
  // A read is done when its bytes are here; the target may yet have to see that its sends are.
  const { set } = epochsOf(pair.targetSession);
  await until('nothing is posted', 5000, () => set.describeAll() === '');
  await pair.close();
  const traces = new Map<string, TraceLine[]>();
  for (const file of readdirSync(folder)) {
    const [, role = '', nic = ''] = /^trace-(\w+)-([\w+]+)-\d+-\d+\.log$/.exec(file) ?? [];
    traces.set(`${role}-${nic}`, parseTrace(readFileSync(join(folder, file), 'utf8')));
  }
  return traces;
}

function assertSame(a: TraceLine[] | undefined, b: TraceLine[] | undefined): void {
  assert.ok(a !== undefined && b !== undefined && a.length > 0);
  assert.equal(diffTraces(a, b), undefined);
}

describe('tcpx trace: NICs do not differ', () => {
  test('tcpx trace: each of four NICs alone', async () => {
    const first = await traceRun('eth1');
    for (const nic of ['eth2', 'eth3', 'eth4']) {
      const other = await traceRun(nic);
      assertSame(first.get('initiator-eth1'), other.get(`initiator-${nic}`));
      assertSame(first.get('target-eth1'), other.get(`target-${nic}`));
    }
  });

  test('tcpx trace: two NICs in both orders', async () => {
    const settings = { 'flow.channels': 2 };
    const forth = await traceRun('eth1,eth2', settings);
    const back = await traceRun('eth2,eth1', settings);
    for (const role of ['initiator', 'target']) {
      assertSame(forth.get(`${role}-eth1`), back.get(`${role}-eth2`));
      assertSame(forth.get(`${role}-eth2`), back.get(`${role}-eth1`));
    }
  });

  test('tcpx trace: arbitrary names, and a single NIC of several is device 0', async () => {
    const nics = 'nicA,addr=127.0.0.21;ens1,addr=127.0.0.22';
    const pair = await openPair({
      settings: { 'session.nics': 'nicA' },
      plugin: { TCPX_EMU_NICS: nics },
    });
    assert.deepEqual(
      railsOf(pair.target).facts.devices.map((device) => device['name']),
      ['nicA'],
    );
    await pair.close();
    const all = await openPair({
      settings: { 'session.nics': '' },
      plugin: { TCPX_EMU_NICS: nics },
    });
    assert.deepEqual(railsOf(all.target).nics, ['ens1', 'nicA'], 'as the plugin orders them');
    await all.close();
  });
});

describe('tcpx trace: the order of calls', () => {
  test('tcpx trace: steps in order, windows of 16 and 12, both ends', async () => {
    const traces = await traceRun('eth1', { 'flow.channels': 2 });
    for (const [name, lines] of traces) {
      const summary = summarizeTrace(lines);
      assert.deepEqual(summary.faults, [], name);
      assert.deepEqual(summary.failures, [], name);
      assert.equal(summary.channels.length, 4, 'two channels, two directions');
      for (const { role, highWater } of summary.channels) {
        assert.ok(highWater <= (role === 'send' ? 12 : 16), `${name} ${role} ${highWater}`);
      }
    }
  });

  test('tcpx trace: set-up calls come in the plugin’s order', async () => {
    const traces = await traceRun('eth1');
    const lines = traces.get('target-eth1') ?? [];
    const setup = lines
      .map(({ call }) => call)
      .filter((call) => !/irecv|isend|test|unpack/.test(call));
    const wanted = ['init', 'properties', 'listen', 'connect', 'regMr', 'accept', 'regMr'];
    assert.deepEqual([...setup.slice(0, 3)], wanted.slice(0, 3));
    assert.deepEqual([...setup.slice(3, 7)].sort(), wanted.slice(3).sort());
    assert.equal(setup.at(-1), 'closeListen');
  });
});
