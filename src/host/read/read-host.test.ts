import assert from 'node:assert/strict';
import { test } from 'node:test';
import { A3_HIGH_NICS, a3HighSpec } from '../../../test/support/a3-high-host.js';
import {
  containerHost,
  noNumaHost,
  offlineCpuHost,
  oldKernelHost,
  virtioHost,
} from '../../../test/support/odd-hosts.js';
import { openFixture } from '../../../test/support/open-fixture.js';
import { formatCpuList, parseCpuList } from '../../base/cpu-set.js';
import { physicalCores } from './cpus.js';
import type { HostModel, Nic } from './model.js';
import { nicIrqCpus } from './nics.js';
import { openHost } from './open-host.js';
import { readHost } from './read-host.js';

function nicOf(model: HostModel, name: string): Nic {
  const nic = model.nics.find((candidate) => candidate.name === name);
  assert.ok(nic !== undefined, `interface ${name}`);
  return nic;
}

test('host: the A3-high tree gives 208 CPUs in 104 pairs on two nodes', () => {
  const model = readHost(openFixture(a3HighSpec()));
  assert.equal(model.cpus.online.length, 208);
  assert.deepEqual(
    model.nodes.map((node) => formatCpuList(node.cpus ?? [])),
    ['0-51,104-155', '52-103,156-207'],
  );
  for (const cpu of model.cpus.cpus) {
    assert.deepEqual(cpu.siblings, [cpu.id % 104, (cpu.id % 104) + 104]);
  }
  assert.deepEqual(model.gaps, []);
});

test('host: 28 CPUs of a binding range are 14 physical cores', () => {
  const model = readHost(openFixture(a3HighSpec()));
  const cpus = parseCpuList('8-21,112-125') ?? [];
  assert.equal(cpus.length, 28);
  assert.equal(formatCpuList(physicalCores(model.cpus, cpus) ?? []), '8-21');
});

test('host: NICs map to node and vectors by PCI address', () => {
  const model = readHost(openFixture(a3HighSpec()));
  for (const facts of A3_HIGH_NICS) {
    const nic = nicOf(model, facts.name);
    assert.equal(nic.pciAddress, facts.address);
    assert.equal(nic.node, facts.node);
    assert.equal(nic.vectors.length, 33);
    assert.equal(nic.vectors[0]?.irq, facts.firstIrq);
    assert.equal(nic.speedMbps, 200_000);
    for (const vector of nic.vectors) {
      const irq = model.irqs.find((candidate) => candidate.irq === vector.irq);
      assert.equal(irq?.pciAddress, facts.address, `irq ${vector.irq} of ${facts.name}`);
    }
  }
});

test('host: the first gve rows belong to eth0, not to eth1', () => {
  const model = readHost(openFixture(a3HighSpec()));
  const first = model.irqs.find((irq) => irq.actions?.[0]?.startsWith('gve') === true);
  const owner = model.nics.find((nic) => nic.vectors.some(({ irq }) => irq === first?.irq));
  assert.equal(owner?.name, 'eth0');
});

test('host: RX queue 8 of eth1 is interrupt 136, on a core of its node', () => {
  const model = readHost(openFixture(a3HighSpec()));
  const eth1 = nicOf(model, 'eth1');
  const vector = eth1.vectors.find(({ role, queue }) => role === 'rx' && queue === 8);
  assert.deepEqual([vector?.irq, vector?.source], [136, 'gve rule']);
  assert.equal(eth1.vectors.at(-1)?.role, 'management');
  assert.equal(formatCpuList(nicIrqCpus(eth1, model.irqs).cpus), '17-32');
});

test('host: ethtool data, addresses and GPUs come from the capture files', () => {
  const model = readHost(openFixture(a3HighSpec()));
  const eth1 = nicOf(model, 'eth1');
  assert.equal(eth1.ethtool?.source, 'capture');
  assert.equal(eth1.ethtool.privateFlags['enable-strict-header-split'], true);
  assert.equal(eth1.ethtool.statistics['rx_devmem_pkts'], 32_000_000);
  assert.deepEqual(eth1.addresses, [{ family: 4, address: '10.0.1.2', prefixLength: 32 }]);
  assert.equal(model.gpus.length, 8);
  assert.deepEqual(
    model.gpus.map((gpu) => gpu.node),
    [0, 0, 0, 0, 1, 1, 1, 1],
  );
  assert.equal(model.gpus[6]?.pciAddress, '0000:8a:00.0');
  assert.equal(model.gpus[6].indexSource, 'nvidia-smi');
  assert.equal(model.gpus[0]?.memoryBytes, 81559 * 1024 * 1024);
});

test('host: interrupts that the kernel manages are known without a write', () => {
  const model = readHost(openFixture(a3HighSpec()));
  const writable = new Map(model.irqs.map((irq) => [irq.actions?.[0], irq.isWritable]));
  assert.equal(writable.get('nvme0q1'), false);
  assert.equal(writable.get('gve-mgmnt@pci:0000:06:00.0'), true);
});

test('host: offline CPUs have no column, no topology and no siblings', () => {
  const model = readHost(openFixture(offlineCpuHost()));
  assert.deepEqual(model.cpus.online, [0, 1, 2, 4, 6, 7]);
  const eth0 = nicOf(model, 'eth0');
  assert.deepEqual(nicIrqCpus(eth0, model.irqs), {
    cpus: [2, 4, 6, 7],
    certainty: 'effective',
  });
  assert.deepEqual(model.irqs.find(({ irq }) => irq === 41)?.countByCpu, { 6: 101 });
  assert.equal(model.cpus.cpus[5]?.isOnline, false);
  assert.equal(model.cpus.cpus[5].siblings, undefined);
  assert.deepEqual(
    model.softnet.map(({ cpu }) => cpu),
    [0, 1, 2, 4, 6, 7],
  );
});

test('host: equal vector names of an old kernel are told apart by device', () => {
  const model = readHost(openFixture(oldKernelHost()));
  const [ens5, ens6] = [nicOf(model, 'ens5'), nicOf(model, 'ens6')];
  assert.deepEqual(
    ens5.vectors.map(({ name }) => name),
    ens6.vectors.map(({ name }) => name),
  );
  assert.deepEqual(
    ens6.vectors.map(({ irq, role, queue }) => [irq, role, queue]),
    [
      [35, 'tx', 0],
      [36, 'tx', 1],
      [37, 'rx', 0],
      [38, 'rx', 1],
      [39, 'management', undefined],
    ],
  );
  assert.equal(model.irqs.find(({ irq }) => irq === 37)?.pciAddress, '0000:00:06.0');
});

test('host: a virtio NIC finds its vectors one level above', () => {
  const model = readHost(openFixture(virtioHost()));
  const nic = nicOf(model, 'enp129s0');
  assert.equal(nic.driver, 'virtio_net');
  assert.equal(nic.node, 1);
  assert.equal(nic.speedMbps, undefined);
  assert.equal(nic.vectors.length, 9);
  const output3 = nic.vectors.find(({ role, queue }) => role === 'tx' && queue === 3);
  assert.deepEqual([output3?.irq, output3?.source], [58, 'virtio rule']);
  assert.equal(nicOf(model, 'veth0').isVirtual, true);
  assert.deepEqual(nicOf(model, 'veth0').vectors, []);
  assert.deepEqual(model.gpus, []);
});

test('host: without NUMA a node is unknown, not node 0', () => {
  const model = readHost(openFixture(noNumaHost()));
  assert.deepEqual(model.nodes, []);
  assert.equal(nicOf(model, 'eth0').node, undefined);
  assert.equal(model.cpus.cpus[0]?.node, undefined);
  assert.equal(nicOf(model, 'eth0').txSteering[0]?.xpsCpus, undefined);
});

test('host: a container without /proc/irq says so and guesses nothing', () => {
  const model = readHost(openFixture(containerHost()));
  assert.ok(model.gaps.some(({ path }) => path === '/proc/irq'));
  const eth1 = nicOf(model, 'eth1');
  assert.equal(eth1.vectors.length, 33);
  const irq = model.irqs.find((candidate) => candidate.irq === 136);
  assert.deepEqual([irq?.requested, irq?.effective], [undefined, undefined]);
  assert.deepEqual(nicIrqCpus(eth1, model.irqs), { cpus: [], certainty: 'unknown' });
});

test('host: this machine reads without surprise', () => {
  const model = readHost(openHost('/'));
  assert.equal(model.isLive, true);
  assert.ok(model.cpus.online.length >= 1);
  assert.ok(model.nics.some((nic) => nic.name === 'lo' && nic.isVirtual));
  assert.ok(model.irqs.length > 0);
  assert.ok(model.limits.congestionAvailable.includes(model.limits.congestionControl ?? ''));
  for (const nic of model.nics) {
    for (const { irq } of nic.vectors) {
      const owner = model.irqs.find((candidate) => candidate.irq === irq)?.pciAddress;
      if (owner !== undefined) assert.equal(owner, nic.pciAddress);
    }
  }
});
