// The parsers of plain text files: what they take, and what they leave unknown.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAffinityText } from './affinity-text.js';
import { flatKindOf, flatMomentOf } from './flat-parts.js';
import { inferSockets } from './lscpu-sockets.js';
import { inferSiblings, parseLscpu } from './lscpu-text.js';
import { parseNicInfo } from './nic-info-text.js';
import { parseTime, splitInterruptSeries, splitNicSeries } from './sample-series.js';

test('flat names: kind and moment, of several collectors', () => {
  const names = {
    'irq_snapshot_before.txt': ['interrupts', 'before'],
    'irq_before.txt': ['interrupts', 'before'],
    'irq_during.txt': ['interrupts', 'during'],
    'after/proc_interrupts': ['interrupts', 'after'],
    'irq_snapshot_node-0_20251007_120000.txt': ['interrupts', 'once'],
    'irq_affinity_before.txt': ['affinity', 'before'],
    'irq_affinity.txt': ['affinity', 'once'],
    'cpu_topology.txt': ['cpus', 'once'],
    'nic_stats_after.txt': ['nics', 'after'],
    'env_vars.txt': ['environment', 'once'],
    'irq_delta.txt': [undefined, 'once'],
    'nccl_test_output.log': [undefined, 'once'],
    'cpu_usage_during.txt': [undefined, 'during'],
  };
  for (const [name, expected] of Object.entries(names)) {
    assert.deepEqual([flatKindOf(name), flatMomentOf(name)], expected, name);
  }
});

test('affinity: list, mask alone, our own form; N/A is unknown', () => {
  const text =
    '=== gVNIC IRQ Affinity ===\nIRQ 79: mask=0000,00000002 cores=1\nIRQ 80: mask=00000014\n' +
    'IRQ 81: eth1 17-18,20\nIRQ 82: eth1 N/A\nIRQ 83: mask=N/A cores=N/A\nIRQ 84: eth1 -\n';
  assert.deepEqual(
    [...parseAffinityText(text)],
    [
      [79, [1]],
      [80, [2, 4]],
      [81, [17, 18, 20]],
    ],
  );
});

const LSCPU =
  'On-line CPU(s) list:  0-7\nThread(s) per core:  2\nCore(s) per socket:  2\nSocket(s):  2\n';

test('lscpu: siblings only where the node ranges leave one answer', () => {
  const nodes = 'NUMA node0 CPU(s):  0-1,4-5\nNUMA node1 CPU(s):  2-3,6-7\n';
  const split = inferSiblings(parseLscpu(LSCPU + nodes));
  assert.deepEqual(split?.siblingsOf.get(5), [1, 5]);
  assert.match(split.reason, /lscpu does not say/);
  const odd = [
    'NUMA node0 CPU(s):  0-3\nNUMA node1 CPU(s):  4-7\n',
    'NUMA node0 CPU(s):  0,2,4,6\nNUMA node1 CPU(s):  1,3,5,7\n',
    '',
  ];
  for (const text of odd) assert.equal(inferSiblings(parseLscpu(LSCPU + text)), undefined, text);
  assert.equal(inferSiblings(parseLscpu(`${LSCPU + nodes}Off-line CPU(s) list: 9\n`)), undefined);
  const single = parseLscpu('On-line CPU(s) list: 0,1\nThread(s) per core: 1\n');
  assert.deepEqual(inferSiblings(single)?.siblingsOf.get(1), [1]);
  assert.equal(parseLscpu('bash: lscpu: command not found\n').online, undefined);
});

test('NIC info: driver, place and statistics by section; more of ethtool where it is', () => {
  const text =
    '=== eth1 ===\nDriver info:\ndriver: gve\nversion: 1.0.0\nfirmware-version: \n' +
    'bus-info: 0000:06:00.0\n\nPCI and NUMA:\n  PCI: 0000:06:00.0\n  NUMA: 0\n\n' +
    'Statistics (selected):\n     rx_bytes: 265996882302\n     rx_bytes[8]: 65\n\n' +
    '=== eth2 ===\nbus-info: 00000000:0C:00.0\n  NUMA: -1\nRing parameters for eth2:\n' +
    'Pre-set maximums:\nRX: 4096\nTX: 2048\nCurrent hardware settings:\nRX: 1024\nTX: 512\n' +
    'TCP data split: on\nFeatures for eth2:\nrx-checksumming: on\nntuple-filters: off [fixed]\n' +
    'Private flags for eth2:\nenable-header-split : on\nSettings for eth2:\n\tSpeed: 200000Mb/s\n' +
    '\tLink detected: yes\nNIC statistics:\n     rx-0.bytes: 7\n';
  const [eth1, eth2] = parseNicInfo(text);
  assert.equal(eth1?.pciAddress, '0000:06:00.0');
  assert.equal(eth1.node, 0);
  assert.equal(eth1.ethtool.driver?.driver, 'gve');
  assert.deepEqual(eth1.ethtool.statistics, { rx_bytes: 265996882302, 'rx_bytes[8]': 65 });
  assert.equal(eth1.ethtool.rings, undefined);
  assert.equal(eth1.hasCarrier, undefined);
  assert.equal(eth2?.pciAddress, '0000:0c:00.0');
  assert.equal(eth2.node, undefined, '-1 is unknown, not node 1');
  const rings = { rx: 1024, tx: 512, rxMax: 4096, txMax: 2048, tcpDataSplit: 'on' };
  assert.deepEqual(eth2.ethtool.rings, rings);
  assert.deepEqual(eth2.ethtool.features['ntuple-filters'], { isActive: false, isFixed: true });
  assert.deepEqual(eth2.ethtool.privateFlags, { 'enable-header-split': true });
  assert.equal(eth2.speedMbps, 200_000);
  assert.equal(eth2.hasCarrier, true);
  assert.deepEqual(eth2.ethtool.statistics, { 'rx-0.bytes': 7 });
});

test('series: samples with their times, in the forms that collectors print', () => {
  const table = (count: number) =>
    `           CPU0       CPU1\n 24:  ${count}  0  PCI-MSI 1-edge x\n`;
  const text =
    `=== 2025-10-07 12:00:00 ===\n${table(1)}Tue Oct  7 12:00:05 UTC 2025\n${table(2)}` +
    `--- 1759838410.5 ---\n${table(3)}${table(4)}`;
  const samples = splitInterruptSeries(text);
  const start = Date.UTC(2025, 9, 7, 12);
  assert.deepEqual(
    samples.map(({ timeMs }) => (timeMs === undefined ? undefined : timeMs - start)),
    [0, 5000, 10_500, undefined],
  );
  assert.match(samples[2]?.text ?? '', /24: {2}3/);
  assert.deepEqual(splitInterruptSeries('mpstat: command not found\n'), []);
  const nics = '2025-10-07T12:00:00Z\n=== eth1 ===\nrx_bytes: 1\n=== eth2 ===\nrx_bytes: 2\n';
  const series = splitNicSeries(nics + nics.replace('00Z', '01Z'));
  assert.equal(series.length, 2);
  assert.equal((series[1]?.timeMs ?? 0) - (series[0]?.timeMs ?? 0), 1000);
  assert.equal(parseTime(' 24: 1759838410 0 PCI-MSI'), undefined, 'a row of counters is no time');
});

test('flat: sockets and sizes of caches, as far as the summary of lscpu leaves one answer', () => {
  const summary = (sockets: number, node1: string) =>
    [
      'On-line CPU(s) list:   0-7',
      'Thread(s) per core:    2',
      `Core(s) per socket:    ${4 / sockets}`,
      `Socket(s):             ${sockets}`,
      'L1d cache:             4.9 MiB (104 instances)',
      'L2 cache:              8 MiB (4 instances)',
      `L3 cache:              210 MiB (${sockets} ${sockets === 1 ? 'instance' : 'instances'})`,
      'NUMA node0 CPU(s):     0-1,4-5',
      `NUMA node1 CPU(s):     ${node1}`,
    ].join('\n');
  const two = parseLscpu(summary(2, '2-3,6-7'));
  assert.deepEqual(inferSockets(two), [
    [0, 1, 4, 5],
    [2, 3, 6, 7],
  ]);
  assert.deepEqual(
    two.caches.map(({ level, sizeKib }) => [level, sizeKib]),
    [
      [2, 2048],
      [3, 107_520],
    ],
    'a sum with a decimal was rounded',
  );
  assert.deepEqual(inferSockets(parseLscpu(summary(1, '2-3,6-7'))), [[0, 1, 2, 3, 4, 5, 6, 7]]);
  assert.equal(inferSockets(parseLscpu(summary(2, '2-3'))), undefined);
  assert.equal(inferSockets(parseLscpu(summary(4, '2-3,6-7'))), undefined);
});
