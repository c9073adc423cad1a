// One NIC in full, and what moved between two snapshots: growth, resets, unknowns.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { a3HighSpec, a3HighTree } from '../../../test/support/a3-high-host.js';
import { readFixtureHost } from '../../../test/support/fixture-host.js';
import type { HostSpec, NicSpec } from '../../../test/support/host-spec.js';
import { buildHostTree } from '../../../test/support/host-tree.js';
import { decodeRssTable, rssTableRequest } from '../read/ethtool-requests.js';
import type { HostModel } from '../read/model.js';
import { growthBetween, sumKnown } from './counter-growth.js';
import { diffNics } from './nic-diff.js';
import { reportNic } from './nic-report.js';
import { pairSnapshots } from './snapshot-pair.js';

function withEth1(change: (nic: NicSpec) => NicSpec): HostModel {
  const spec: HostSpec = a3HighSpec();
  const nics = spec.nics.map((nic) => (nic.name === 'eth1' ? change(nic) : nic));
  return readFixtureHost(buildHostTree({ ...spec, nics }));
}

function withStatistics(values: Readonly<Record<string, number>>): HostModel {
  return withEth1((nic) => {
    const { ethtool } = nic;
    assert.ok(ethtool !== undefined);
    return { ...nic, ethtool: { ...ethtool, statistics: { ...ethtool.statistics, ...values } } };
  });
}

const BEFORE = readFixtureHost(a3HighTree());

test('nic diff: bytes, packets, device memory and drops per NIC and queue', () => {
  const after = withStatistics({
    rx_bytes: 265_000_000_500,
    'rx_bytes[8]': 65_000_000_400,
    rx_devmem_pkts: 32_000_007,
    rx_devmem_dropped: 3,
  });
  const [diff] = diffNics(BEFORE, after, ['eth1']);
  assert.equal(diff?.rx.bytes, 500);
  assert.equal(diff.rx.devmemPackets, 7);
  assert.equal(diff.rx.drops, 3);
  assert.deepEqual(diff.drops, { rx_devmem_dropped: 3 });
  const queue = diff.parts.find((part) => part.direction === 'rx' && part.queue === 8);
  assert.equal(queue?.bytes, 400);
  assert.equal(queue.irq, 136);
  assert.equal(queue.packets, undefined, 'gve counts no packets per queue');
});

test('nic diff: interrupts per vector and core', () => {
  const after = withEth1((nic) => ({
    ...nic,
    vectors: nic.vectors.map((vector) =>
      vector.irq === 136 ? { ...vector, counts: { 25: 230_108, 30: 5 } } : vector,
    ),
  }));
  const [diff] = diffNics(BEFORE, after, ['eth1']);
  const queue = diff?.parts.find(({ irq }) => irq === 136);
  assert.deepEqual(queue?.interrupts, { 25: 100, 30: 5 });
  assert.deepEqual(diff?.parts.find(({ irq }) => irq === 137)?.interrupts, {});
});

test('nic diff: a counter that fell has no growth, and the reset is told', () => {
  const after = withStatistics({ rx_bytes: 5, reset_cnt: 1, 'rx_bytes[8]': 1 });
  const [diff] = diffNics(BEFORE, after, ['eth1']);
  const queue = diff?.parts.find((part) => part.direction === 'rx' && part.queue === 8);
  assert.equal(queue?.bytes, undefined);
  assert.ok((diff?.notes ?? []).some((note) => note.includes('reset_cnt grew by 1')));
  assert.ok((diff?.notes ?? []).some((note) => note.includes('counters fell')));
});

test('nic diff: a NIC that one snapshot lacks is said to be missing, not idle', () => {
  const without = { ...BEFORE, nics: BEFORE.nics.filter(({ name }) => name !== 'eth1') };
  const [diff] = diffNics(without, BEFORE, ['eth1']);
  assert.deepEqual(diff?.notes, ['not in the first snapshot']);
  assert.equal(diff.rx.bytes, undefined);
});

test('growth: never negative, and never from a value that was not there', () => {
  const counters = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat());
  fc.assert(
    fc.property(counters, counters, (before, after) => {
      const { grown, fell } = growthBetween(before, after);
      for (const [name, count] of Object.entries(grown)) {
        assert.ok(count >= 0 && name in before && name in after);
      }
      for (const name of fell) assert.ok((after[name] ?? 0) < (before[name] ?? 0));
    }),
  );
  assert.equal(sumKnown([1, undefined]), undefined);
  assert.equal(sumKnown([]), undefined);
});

test('snapshots: another host, another boot and the wrong order are refused', () => {
  const take = (model: HostModel, timeMs?: number, bootId?: string) => {
    return { path: 'x', model, timeMs, bootId };
  };
  const other = { ...BEFORE, hostname: 'b' };
  assert.throws(() => pairSnapshots(take(BEFORE), take(other)), /the first is of a3-high-fixture/);
  assert.throws(
    () => pairSnapshots(take(BEFORE, 1, 'one'), take(BEFORE, 2, 'two')),
    /booted in between/,
  );
  assert.throws(() => pairSnapshots(take(BEFORE, 2), take(BEFORE, 1)), /taken before the first/);
  assert.equal(pairSnapshots(take(BEFORE, 1000), take(BEFORE, 3500)).seconds, 2.5);
  assert.equal(pairSnapshots(take(BEFORE), take(BEFORE, 3500)).seconds, undefined);
});

test('nic report: PCIe, RSS spread, rates from an earlier reading', () => {
  const after = withStatistics({ rx_bytes: 265_000_000_500, 'rx_bytes[8]': 65_000_000_400 });
  const eth1 = after.nics.find(({ name }) => name === 'eth1');
  assert.ok(eth1?.ethtool !== undefined);
  const rssTable = [0, 1, 2, 3, 0, 1, 2, 3];
  const nic = { ...eth1, ethtool: { ...eth1.ethtool, rssTable } };
  const pci = after.pci.map((device) =>
    device.address === nic.pciAddress ? { ...device, linkSpeedGTps: 16, linkWidth: 8 } : device,
  );
  const report = reportNic({ ...after, pci }, nic, { model: BEFORE, seconds: 2 });
  assert.equal(report.pcie?.gigabytesPerSecond.toFixed(2), '15.75');
  assert.deepEqual(report.rss?.[1], { queue: 1, entries: 2 });
  const bytes = report.counters.find(({ name }) => name === 'rx_bytes');
  assert.equal(bytes?.perSecond, 250);
  const queue = report.queues.find((q) => q.direction === 'rx' && q.queue === 8);
  assert.equal(queue?.bytesPerSecond, 200);
  assert.deepEqual(queue.irqCpus, [25]);
});

test('nic report: without an earlier reading rates are unknown; what is not told is named', () => {
  const eth1 = BEFORE.nics.find(({ name }) => name === 'eth1');
  assert.ok(eth1 !== undefined);
  const bare = { ...eth1, ethtool: undefined, speedMbps: undefined, statistics: {} };
  const report = reportNic({ ...BEFORE, pci: [], softnet: [] }, bare, undefined);
  assert.ok(report.queues.every(({ bytesPerSecond }) => bytesPerSecond === undefined));
  for (const part of ['PCIe link', 'speed', 'rings', 'RSS table', 'counters', 'softnet']) {
    assert.ok(report.unknown.includes(part), part);
  }
});

test('ethtool: the RSS table is asked with its size and read entry by entry', () => {
  const memory = rssTableRequest(4);
  const view = new DataView(memory);
  assert.equal(view.getUint32(0, true), 0x38);
  for (const [index, queue] of [0, 1, 2, 7].entries()) view.setUint32(8 + index * 4, queue, true);
  assert.deepEqual(decodeRssTable(memory), [0, 1, 2, 7]);
});
