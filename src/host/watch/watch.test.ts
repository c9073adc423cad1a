import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighSpec } from '../../../test/support/a3-high-host.js';
import { buildHostTree } from '../../../test/support/host-tree.js';
import { openFixtureTree } from '../../../test/support/open-fixture.js';
import type { TreeEntry } from '../read/file-tree.js';
import type { HostFiles } from '../read/host-files.js';
import { openStatistics } from '../read/nic-statistics.js';
import { parseQueueCounter } from '../read/queue-counter.js';
import { readHost } from '../read/read-host.js';
import { ratesBetween } from './watch-rates.js';
import { chooseCounters, WatchSampler, type WatchWish } from './watch-sample.js';

const EVERYTHING = {
  counters: ['rx_devmem*'],
  hasQueues: true,
  hasIrqs: true,
  hasCpus: true,
} as const;

/** A sampler over a tree that the test changes between readings, with what each reading cost. */
function samplerOver(tree: Map<string, TreeEntry>) {
  const source = openFixtureTree(tree);
  const model = readHost(source);
  const wish: WatchWish = { nics: model.nics, ...EVERYTHING };
  const seen: { path: string; bytes: number }[] = [];
  const files: HostFiles = {
    ...source.files,
    read: (path) => {
      const text = source.files.read(path);
      seen.push({ path, bytes: text?.length ?? 0 });
      return text;
    },
  };
  return { sampler: new WatchSampler(files, model, openStatistics(source), wish), seen };
}

function a3Tree(): Map<string, TreeEntry> {
  return new Map(buildHostTree(a3HighSpec()));
}

function setText(tree: Map<string, TreeEntry>, path: string, text: string): void {
  assert.ok(tree.has(path), path);
  tree.set(path, { kind: 'file', text });
}

test('watch: rates of bytes, interrupts per core, CPU time and retransmits', () => {
  const tree = a3Tree();
  const { sampler } = samplerOver(tree);
  const before = sampler.read(0);
  const eth1 =
    '/sys/devices/pci0000:00/0000:00:10.0/0000:02:00.0/0000:03:02.0/0000:06:00.0/net/eth1';
  setText(tree, `${eth1}/statistics/rx_bytes`, String(265_000_000_000 + 5_000_000_000));
  const counts = Array.from({ length: 208 }, (_, cpu) => (cpu === 25 ? 230_008 + 1000 : 0));
  setText(tree, '/sys/kernel/irq/136/per_cpu_count', counts.join(','));
  setText(tree, '/proc/net/snmp', 'Tcp: InSegs RetransSegs\nTcp: 1000 13\n');
  setText(tree, '/proc/stat', 'cpu  0\ncpu0 125 0 50 1020 5 1 25 0 0 0\n');
  const rates = ratesBetween(before, sampler.read(500_000), new Date(0));
  assert.equal(rates.intervalMs, 500);
  assert.equal(rates.nics['eth1']?.rates['rx_bytes'], 10e9);
  assert.equal(rates.nics['eth1'].irqRatesByCpu['25'], 2000);
  assert.equal(rates.nics['eth1'].irqRatesByCpu['24'], 0);
  assert.equal(rates.tcpRates['RetransSegs'], 20);
  assert.deepEqual(rates.cpus, [{ cpu: 0, busyPercent: 60, irqPercent: 0, softirqPercent: 10 }]);
});

test('watch: devmem packets and bytes per queue come from the driver', () => {
  const tree = a3Tree();
  const { sampler } = samplerOver(tree);
  const before = sampler.read(0);
  const path = '/tcpx-capture/ethtool/eth2.json';
  const entry = tree.get(path);
  assert.ok(entry?.kind === 'file');
  const data = JSON.parse(entry.text) as { statistics: Record<string, number> };
  const statistics = { ...data.statistics, rx_devmem_pkts: 32_000_500, 'rx_bytes[8]': 65e9 + 1e6 };
  setText(tree, path, JSON.stringify({ ...data, statistics }));
  const rates = ratesBetween(before, sampler.read(1_000_000), new Date(0));
  assert.deepEqual(rates.nics['eth2']?.counterRates, { rx_devmem_pkts: 500, rx_devmem_dropped: 0 });
  assert.equal(rates.nics['eth2'].queueRates['rx 8'], 1e6);
  assert.equal(rates.nics['eth1']?.counterRates['rx_devmem_pkts'], 0);
});

test('watch: without kernel totals the driver’s are taken; share of the link is told', () => {
  const tree = a3Tree();
  for (const path of tree.keys()) if (/\/eth2\/statistics\//.test(path)) tree.delete(path);
  const { sampler } = samplerOver(tree);
  const before = sampler.read(0);
  const path = '/tcpx-capture/ethtool/eth2.json';
  const entry = tree.get(path);
  assert.ok(entry?.kind === 'file');
  const grown = entry.text.replace('"rx_bytes":265000000000', '"rx_bytes":267500000000');
  setText(tree, path, grown);
  const rates = ratesBetween(before, sampler.read(1_000_000), new Date(0));
  assert.equal(rates.nics['eth2']?.rates['rx_bytes'], 2.5e9);
  assert.equal(rates.nics['eth2'].totals['rx_bytes'], 267_500_000_000);
  assert.equal(rates.nics['eth2'].linkPercent.rx, 10);
  assert.deepEqual(Object.keys(rates.softnetRates), ['processed', 'dropped', 'timeSqueeze']);
});

test('watch: a counter that fell was reset, its rate is unknown', () => {
  const tree = a3Tree();
  const { sampler } = samplerOver(tree);
  const before = sampler.read(0);
  setText(tree, '/proc/net/snmp', 'Tcp: InSegs RetransSegs\nTcp: 5 0\n');
  const rates = ratesBetween(before, sampler.read(500_000), new Date(0));
  assert.equal(rates.tcpRates['RetransSegs'], null);
});

test('watch: a reading of 208 CPUs never touches the interrupt table', (t) => {
  const { sampler, seen } = samplerOver(a3Tree());
  sampler.read(0);
  const bytes = seen.reduce((sum, { bytes }) => sum + bytes, 0);
  const interruptBytes = seen
    .filter(({ path }) => path.startsWith('/sys/kernel/irq/'))
    .reduce((sum, { bytes }) => sum + bytes, 0);
  t.diagnostic(`one reading of everything: ${seen.length} files, ${bytes} bytes`);
  assert.ok(seen.every(({ path }) => path !== '/proc/interrupts'));
  assert.ok(interruptBytes > 0 && interruptBytes < 100_000, `${interruptBytes} bytes`);
  assert.ok(bytes < 200_000, `${bytes} bytes`);
});

test('watch: without the small files the table is read at most once a second', () => {
  const tree = a3Tree();
  for (const path of tree.keys()) if (path.startsWith('/sys/kernel/irq')) tree.delete(path);
  const { sampler, seen } = samplerOver(tree);
  const samples = [0, 500_000, 1_000_000].map((atUs) => sampler.read(atUs));
  const tables = seen.filter(({ path }) => path === '/proc/interrupts');
  assert.equal(tables.length, 2);
  const [first, second, third] = samples;
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  // Not read again means not known, instead of zero.
  const early = ratesBetween(first, second, new Date(0));
  assert.equal(early.nics['eth1']?.irqRatesByCpu['25'], null);
  const late = ratesBetween(second, third, new Date(0));
  assert.equal(late.nics['eth1']?.irqRatesByCpu['25'], 0);
});

test('watch: counters by exact name or prefix', () => {
  const statistics = { rx_devmem_pkts: 1, rx_devmem_dropped: 2, rx_bytes: 3 };
  assert.deepEqual(chooseCounters(statistics, ['rx_devmem*']), {
    rx_devmem_pkts: 1,
    rx_devmem_dropped: 2,
  });
  assert.deepEqual(chooseCounters(statistics, ['rx_bytes', 'none']), { rx_bytes: 3 });
});

test('watch: queue counters under the names of several drivers', () => {
  const names = ['rx_bytes[8]', 'tx_queue_3_bytes', 'queue_0_rx_bytes', 'rx12_bytes', 'tx-4.bytes'];
  assert.deepEqual(
    names.map((name) => parseQueueCounter(name)),
    [
      { direction: 'rx', queue: 8 },
      { direction: 'tx', queue: 3 },
      { direction: 'rx', queue: 0 },
      { direction: 'rx', queue: 12 },
      { direction: 'tx', queue: 4 },
    ],
  );
  for (const name of ['rx_bytes', 'rx_hsplit_bytes[3]', 'rx0_kicks']) {
    assert.equal(parseQueueCounter(name), undefined, name);
  }
});
