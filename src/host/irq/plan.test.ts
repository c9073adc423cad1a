// Policies on the A3-high fixture: which cores, why, and which warnings; and hosts that are odd.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighSpec, a3HighTree } from '../../../test/support/a3-high-host.js';
import { readFixtureHost } from '../../../test/support/fixture-host.js';
import { buildHostTree } from '../../../test/support/host-tree.js';
import { formatCpuList } from '../../base/cpu-set.js';
import { isTcpxError } from '../../base/errors.js';
import type { HostModel } from '../read/model.js';
import { coreMapOf, physicalCores } from './core-map.js';
import { intersectionOf, requireCpuList } from './cpu-choice.js';
import { buildPlan, type IrqPlan } from './plan.js';
import type { WarningCode } from './plan-warning.js';
import { channelCpus, type PolicyName, type PolicyRequest } from './policy.js';

const HOST = readFixtureHost(a3HighTree());
const DATA_NICS = ['eth1', 'eth2', 'eth3', 'eth4'];

function requestFor(host: HostModel, nics: readonly string[], more: Partial<PolicyRequest> = {}) {
  return {
    nics: host.nics.filter((nic) => nics.includes(nic.name)),
    cores: coreMapOf(host),
    application: undefined,
    txBindings: [],
    rxBindings: [],
    adjustCores: 0,
    manualCores: [],
    channels: 2,
    ...more,
  };
}

function plan(policy: PolicyName, more: Partial<PolicyRequest> = {}, nics = DATA_NICS): IrqPlan {
  return buildPlan(policy, requestFor(HOST, nics, more), HOST);
}

function linesOf(document: IrqPlan, nic: string) {
  return document.lines.filter((line) => line.nic === nic);
}

function codes(document: IrqPlan): Set<WarningCode> {
  return new Set(document.lines.flatMap((line) => line.warnings.map(({ code }) => code)));
}

test('plan: covers 32 queue vectors per NIC and leaves the management vector alone', () => {
  const document = plan('nccl');
  assert.deepEqual(
    DATA_NICS.map((nic) => linesOf(document, nic).length),
    [32, 32, 32, 32],
  );
  assert.equal(linesOf(document, 'eth1')[0]?.irq, 112);
  const rx8 = linesOf(document, 'eth1').find((line) => line.queue === 'RX queue 8');
  assert.equal(rx8?.irq, 136);
  assert.equal(rx8.path, '/proc/irq/136/smp_affinity_list');
  assert.equal(rx8.value, '22-35,126-139');
  assert.equal(rx8.mask, '0000,00000000,00000fff,c0000000,00000000,0000000f,ffc00000');
  assert.deepEqual(rx8.before, [25]);
});

test('plan nccl: gives the reference ranges, 28 CPUs that are 14 physical cores', () => {
  const document = plan('nccl');
  const ranges = document.allocations.map(({ tx, rx }) => [formatCpuList(tx), formatCpuList(rx)]);
  assert.deepEqual(ranges, [
    ['8-21,112-125', '22-35,126-139'],
    ['8-21,112-125', '22-35,126-139'],
    ['60-73,164-177', '74-87,178-191'],
    ['60-73,164-177', '74-87,178-191'],
  ]);
  const cores = coreMapOf(HOST);
  for (const { tx, rx } of document.allocations) {
    assert.equal(tx.length, 28);
    assert.equal(physicalCores(tx, cores).length, 14);
    assert.deepEqual(intersectionOf(tx, rx), []);
  }
  assert.ok(document.notes.some((note) => /eth1 and eth2 share the thread cores/.test(note)));
  assert.ok(codes(document).has('overlap'));
  assert.ok(!codes(document).has('remote'));
});

test('plan nccl: refuses its own ranges on another machine, takes given ones', () => {
  const spec = { ...a3HighSpec(), cpuCount: 104, siblingStride: 0 };
  const host = readFixtureHost(buildHostTree(spec));
  const build = () => buildPlan('nccl', requestFor(host, DATA_NICS), host);
  assert.throws(build, (error) => isTcpxError(error, 'ERR_USAGE_ARGUMENT'));
});

test('plan split: threads and interrupts on disjoint physical cores of the NIC’s node', () => {
  const document = plan('split');
  const cores = coreMapOf(HOST);
  for (const allocation of document.allocations) {
    const { tx, rx, irq, node } = allocation;
    const sets = [tx, rx, irq, document.application].map((set) => physicalCores(set, cores));
    for (const [index, set] of sets.entries()) {
      assert.ok(set.length > 0);
      for (const other of sets.slice(index + 1)) assert.deepEqual(intersectionOf(set, other), []);
    }
    assert.ok([...tx, ...rx, ...irq].every((cpu) => cores.nodeOf(cpu) === node));
  }
  assert.deepEqual([...codes(document)], []);
  assert.ok(document.lines.every((line) => line.cpus.length === 1 && line.reason !== ''));
});

test('plan numa-local: one local CPU per queue, NICs of a node apart, CPU 0 left out', () => {
  const document = plan('numa-local');
  const [eth1, eth2] = ['eth1', 'eth2'].map((nic) => linesOf(document, nic).flatMap((l) => l.cpus));
  assert.deepEqual(intersectionOf(eth1 ?? [], eth2 ?? []), []);
  assert.ok(document.lines.every((line) => !line.cpus.includes(0)));
  assert.ok(!codes(document).has('remote') && !codes(document).has('shared'));
});

test('plan physical: never two hardware threads of one core', () => {
  const document = plan('physical');
  const used = new Set(document.lines.flatMap((line) => line.cpus));
  assert.equal(physicalCores([...used], coreMapOf(HOST)).length, used.size);
});

test('plan channels: cuts the given ranges into whole cores per channel', () => {
  const txBindings = [{ nic: 'eth1', ranges: [[8, 21] as const, [112, 125] as const] }];
  const rxBindings = [{ nic: 'eth1', ranges: [[22, 35] as const, [126, 139] as const] }];
  const request = requestFor(HOST, ['eth1'], { txBindings, rxBindings });
  const parts = channelCpus(requireCpuList('8-21,112-125'), request).map(formatCpuList);
  assert.deepEqual(parts, ['8-14,112-118', '15-21,119-125']);
  const document = buildPlan('channels', request, HOST);
  const tx = (queue: number) =>
    document.lines.find((line) => line.queue === `TX queue ${queue}`)?.cpus[0] ?? -1;
  assert.ok([0, 2, 4].every((queue) => tx(queue) >= 8 && tx(queue) <= 14));
  assert.ok([1, 3, 5].every((queue) => tx(queue) >= 15 && tx(queue) <= 21));
});

test('plan: widen adds the next free cores of the node, narrow drops the last', () => {
  const tx = (adjustCores: number) =>
    formatCpuList(plan('nccl', { adjustCores }).allocations[0]!.tx);
  assert.equal(tx(0), '8-21,112-125');
  assert.equal(tx(2), '8-21,36-37,112-125,140-141');
  assert.equal(tx(-7), '8-14,112-118');
  assert.equal(tx(-100), '8,112');
});

test('plan manual: the named cores for every queue vector of the named NIC', () => {
  const manualCores = requireCpuList('8-21,112-125');
  const document = plan('manual', { manualCores }, ['eth1']);
  assert.equal(document.lines.length, 32);
  assert.ok(document.lines.every((line) => line.value === '8-21,112-125'));
});

const WARNINGS = [
  ['remote', '60-61', undefined],
  ['application', '8-9', '8-9'],
  ['sibling', '8-9', '112-113'],
] as const;

for (const [code, cores, application] of WARNINGS) {
  test(`plan: warns of ${code} cores`, () => {
    const manualCores = requireCpuList(cores);
    const owned = application === undefined ? undefined : requireCpuList(application);
    const document = plan('manual', { manualCores, application: owned }, ['eth1']);
    assert.deepEqual([...codes(document)], [code]);
  });
}

test('plan: warns of a CPU that is offline and of one that serves two NICs', () => {
  const host = readFixtureHost(buildHostTree({ ...a3HighSpec(), offlineCpus: [9] }));
  const manualCores = requireCpuList('8-9');
  const document = buildPlan('manual', requestFor(host, ['eth1', 'eth2'], { manualCores }), host);
  assert.deepEqual([...codes(document)].sort(), ['offline', 'shared']);
});

test('plan: a host without NUMA gives all CPUs and says that the node is unknown', () => {
  const spec = a3HighSpec();
  const nics = spec.nics.map((nic) => ({ ...nic, node: -1 }));
  const host = readFixtureHost(buildHostTree({ ...spec, nodes: [], nics }));
  const document = buildPlan('split', requestFor(host, DATA_NICS), host);
  assert.equal(document.lines.length, 128);
  assert.ok(document.unknowns.some((text) => /the NUMA node of eth1/.test(text)));
});

for (const missing of [
  ['/sys/devices/system/node/online'],
  [
    '/sys/devices/system/node/online',
    '/sys/devices/system/node/node0',
    '/sys/devices/system/node/node1',
  ],
  ['/sys/devices/system/node/node1/cpulist'],
]) {
  test(`plan: threads stay on the NIC’s node without ${missing.join(', ')}`, () => {
    const tree = new Map(
      [...a3HighTree()].filter(([path]) => !missing.some((gone) => path.startsWith(gone))),
    );
    const host = readFixtureHost(tree);
    const document = buildPlan('split', requestFor(host, DATA_NICS), host);
    const cores = coreMapOf(HOST);
    for (const { nic, node, tx, rx, irq } of document.allocations) {
      assert.equal(node, nic < 'eth3' ? 0 : 1);
      assert.ok(
        [...tx, ...rx, ...irq].every((cpu) => cores.nodeOf(cpu) === node),
        nic,
      );
    }
    assert.ok(document.unknowns.length === 0);
  });
}

test('plan: CPUs of a node that nothing tells are said to be unknown', () => {
  const gone = /node\/node1\/cpulist$|\/local_cpulist$/;
  const host = readFixtureHost(new Map([...a3HighTree()].filter(([path]) => !gone.test(path))));
  const document = buildPlan('split', requestFor(host, DATA_NICS), host);
  assert.ok(document.unknowns.some((text) => /the CPUs of node 1 of eth3/.test(text)));
});

test('plan: a small host still gets a line per vector, with warnings where work meets', () => {
  const spec = a3HighSpec();
  const nics = spec.nics.slice(1, 3);
  const nodes = [{ id: 0, cpuList: '0-3', memoryKib: 1024 }];
  const small = { ...spec, cpuCount: 4, siblingStride: 2, nodes, nics, gpus: [], otherIrqs: [] };
  const host = readFixtureHost(buildHostTree(small));
  const document = buildPlan('split', requestFor(host, ['eth1', 'eth2']), host);
  assert.equal(document.lines.length, 64);
  assert.ok(document.lines.every((line) => line.cpus.length === 1));
  assert.ok(codes(document).has('overlap'));
});
