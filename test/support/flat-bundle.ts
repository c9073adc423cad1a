// The fixture machine as a flat bundle: the plain text files that a collector leaves around a run,
// in the shapes that real ones have. Nothing in it but what such files say.

import { formatCpuMask, parseCpuList } from '../../src/base/cpu-set.js';
import { a3HighSpec } from './a3-high-host.js';
import { type HostSpec, type IrqSpec, type NicSpec, onlineCpus } from './host-spec.js';
import { buildHostTree } from './host-tree.js';

export type FlatBundle = ReadonlyMap<string, string>;

/** NICs of which a collector takes notes; it leaves the control NIC out. */
export const FLAT_NICS = ['eth1', 'eth2', 'eth3', 'eth4'] as const;

const RUN_BYTES = 32_000_000_000;
const RUN_INTERRUPTS = 230_000;

/** Device-memory queues 8 to 11 carry a run; each on the CPU of its vector. */
function afterRun(spec: HostSpec): HostSpec {
  return {
    ...spec,
    nics: spec.nics.map((nic, index) =>
      index === 0
        ? nic
        : { ...nic, vectors: nic.vectors.map(runVector), ethtool: runStatistics(nic) },
    ),
  };
}

function runVector(vector: IrqSpec): IrqSpec {
  const rxQueue = vector.vectorIndex - 16;
  if (rxQueue < 8 || rxQueue > 11) return vector;
  const cpu = Number(vector.requested);
  return { ...vector, counts: { [cpu]: (vector.counts[cpu] ?? 0) + RUN_INTERRUPTS + rxQueue } };
}

function runStatistics({ ethtool }: NicSpec): NicSpec['ethtool'] {
  if (ethtool === undefined) return undefined;
  const statistics = { ...ethtool.statistics };
  const add = (name: string, count: number) => {
    statistics[name] = (statistics[name] ?? 0) + count;
  };
  for (const queue of [8, 9, 10, 11]) add(`rx_bytes[${queue}]`, RUN_BYTES + queue);
  add('rx_bytes', 4 * RUN_BYTES);
  add('tx_bytes', 3 * RUN_BYTES);
  add('rx_packets', 15_000_000);
  add('rx_devmem_pkts', 14_000_000);
  return { ...ethtool, statistics };
}

export function flatBundle(): FlatBundle {
  const before = a3HighSpec();
  const after = afterRun(before);
  return new Map([
    ['cpu_topology.txt', lscpuText(before)],
    ['irq_snapshot_before.txt', interruptText(before)],
    ['irq_snapshot_after.txt', interruptText(after)],
    ['irq_affinity_before.txt', affinityText(before)],
    ['irq_affinity_after.txt', affinityText(after)],
    ['nic_info_before.txt', nicText(before)],
    ['nic_info_after.txt', nicText(after)],
    ['env_vars.txt', environmentText()],
    ['README.md', '# not a part\n'],
  ]);
}

export function interruptText(spec: HostSpec): string {
  const entry = buildHostTree(spec).get('/proc/interrupts');
  return entry?.kind === 'file' ? entry.text : '';
}

function lscpuText(spec: HostSpec): string {
  const cores = spec.cpuCount / 2 / spec.nodes.length;
  const lines = [
    'Architecture:                            x86_64',
    `CPU(s):                                  ${spec.cpuCount}`,
    `On-line CPU(s) list:                     0-${spec.cpuCount - 1}`,
    'Model name:                              Fixture CPU @ 2.70GHz',
    'Thread(s) per core:                      2',
    `Core(s) per socket:                      ${cores}`,
    `Socket(s):                               ${spec.nodes.length}`,
    'L3 cache:                                210 MiB (2 instances)',
    `NUMA node(s):                            ${spec.nodes.length}`,
    ...spec.nodes.map(
      ({ id, cpuList }) => `NUMA node${id} CPU(s):                       ${cpuList}`,
    ),
    'Vulnerability Meltdown:                  Not affected',
  ];
  return `${lines.join('\n')}\n`;
}

function affinityText(spec: HostSpec): string {
  const lines = spec.nics
    .flatMap(({ vectors }) => vectors)
    .map(({ irq, requested }) => {
      const mask = formatCpuMask(parseCpuList(requested) ?? [], onlineCpus(spec).length) ?? '';
      return `IRQ ${irq}: mask=${mask} cores=${requested}`;
    });
  return `=== gVNIC IRQ Affinity ===\n${lines.join('\n')}\n`;
}

function nicText(spec: HostSpec): string {
  const named = spec.nics.filter(({ name }) => (FLAT_NICS as readonly string[]).includes(name));
  return named.map(nicSection).join('\n');
}

function nicSection(nic: NicSpec): string {
  const statistics = Object.entries(nic.ethtool?.statistics ?? {})
    // A collector keeps a selection: idle queues are not in it.
    .filter(([name]) => !/\[1[2-5]\]$/.test(name) && !name.startsWith('tx_bytes['))
    .map(([name, value]) => `     ${name}: ${value}`);
  return [
    `=== ${nic.name} ===`,
    'Driver info:',
    `driver: ${nic.driver}`,
    'version: 1.0.0',
    'firmware-version: ',
    'expansion-rom-version: ',
    `bus-info: ${nic.address ?? ''}`,
    'supports-statistics: yes',
    'supports-priv-flags: yes',
    '',
    'PCI and NUMA:',
    `  PCI: ${nic.address ?? ''}`,
    `  NUMA: ${nic.node}`,
    '',
    'Statistics (selected):',
    ...statistics,
    '',
  ].join('\n');
}

function environmentText(): string {
  const bindings = 'eth1:22-35,126-139;eth2:22-35,126-139;eth3:74-87,178-191;eth4:74-87,178-191';
  return (
    'CUDA_VERSION=12.8.1\nNCCL_DYNAMIC_CHUNK_SIZE=524288\n' +
    `NCCL_GPUDIRECTTCPX_RX_BINDINGS=${bindings}\n` +
    'NCCL_GPUDIRECTTCPX_SOCKET_IFNAME=eth1,eth2,eth3,eth4\n'
  );
}
