// The host as the plain text files of a bundle, in the forms that its readers know: a listing as
// lscpu prints it, sections per NIC as ethtool does, a line per interrupt. What the host did not
// say is left out or `N/A`. Pure.

import { formatCpuList } from '../../base/cpu-set.js';
import { describeVector } from '../../host/irq/policy.js';
import type { HostModel, Irq, Nic } from '../../host/read/model.js';
import { chooseNics } from '../../host/topo/gpu-nic-choice.js';

/** Columns as wide as their widest cell. */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    }
  }
  const line = (row: readonly string[]) =>
    row.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join('  ');
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('');
}

export function cpuTopologyText({ cpus, nodes }: HostModel): string {
  const online = cpus.cpus.filter(({ isOnline }) => isOnline);
  const threads = online.map(({ siblings }) => siblings?.length);
  const threadsPerCore = threads.includes(undefined)
    ? undefined
    : Math.max(...(threads as number[]));
  const packages = new Set(online.map(({ packageId }) => packageId));
  const sockets = packages.has(undefined) || packages.size === 0 ? undefined : packages.size;
  const cores =
    threadsPerCore === undefined || sockets === undefined
      ? undefined
      : online.length / threadsPerCore / sockets;
  const offline = cpus.present.filter((cpu) => !cpus.online.includes(cpu));
  const fields: readonly (readonly [string, string | number | undefined])[] = [
    ['CPU(s)', cpus.present.length],
    ['On-line CPU(s) list', formatCpuList(cpus.online)],
    ['Off-line CPU(s) list', offline.length === 0 ? undefined : formatCpuList(offline)],
    ['Model name', cpus.modelName],
    ['Thread(s) per core', threadsPerCore],
    ['Core(s) per socket', cores === undefined || !Number.isInteger(cores) ? undefined : cores],
    ['Socket(s)', sockets],
    ['NUMA node(s)', nodes.length],
    ...nodes.map(
      ({ id, cpus: own }) =>
        [`NUMA node${id} CPU(s)`, own === undefined ? undefined : formatCpuList(own)] as const,
    ),
  ];
  const known = fields.filter(([, value]) => value !== undefined && value !== '');
  return known.map(([name, value]) => `${`${name}:`.padEnd(40)} ${value ?? ''}\n`).join('');
}

function cpuText(cpus: readonly number[] | undefined): string {
  return cpus === undefined ? 'N/A' : formatCpuList(cpus) || 'N/A';
}

function irqsById(model: HostModel): ReadonlyMap<number, Irq> {
  return new Map(model.irqs.map((irq) => [irq.irq, irq]));
}

/** `IRQ 79: eth1 8-21`, a line per interrupt of a NIC. */
export function affinityText(model: HostModel, nics: readonly Nic[]): string {
  const byId = irqsById(model);
  const lines = nics.flatMap((nic) =>
    nic.vectors.map(({ irq }) => `IRQ ${irq}: ${nic.name} ${cpuText(byId.get(irq)?.requested)}\n`),
  );
  return lines.length === 0 ? 'no NIC here has interrupts of its own\n' : lines.join('');
}

export function irqMappingText(model: HostModel, nics: readonly Nic[]): string {
  const byId = irqsById(model);
  const rows = nics.flatMap((nic) =>
    nic.vectors.map((vector) => [
      nic.name,
      String(vector.irq),
      vector.role === 'management' ? 'management' : describeVector(vector),
      cpuText(byId.get(vector.irq)?.requested),
      cpuText(byId.get(vector.irq)?.effective),
    ]),
  );
  if (rows.length === 0) return 'no NIC here has interrupts of its own\n';
  return alignColumns([['NIC', 'IRQ', 'queue', 'requested', 'effective'], ...rows]);
}

export function numaTopologyText(model: HostModel, nics: readonly Nic[]): string {
  const choices = chooseNics(
    model,
    nics.map(({ name }) => name),
  );
  const sections = nics.map((nic) => {
    const gpus = choices.filter((choice) => choice.nic === nic.name).map(({ gpu }) => gpu);
    return [
      `=== ${nic.name} ===`,
      `  PCI: ${nic.pciAddress ?? 'N/A'}`,
      `  NUMA: ${nic.node ?? 'N/A'}`,
      `  Local CPUs: ${cpuText(nic.localCpus)}`,
      `  GPUs nearest: ${gpus.length === 0 ? 'none' : formatCpuList(gpus)}`,
      '',
    ].join('\n');
  });
  return sections.length === 0 ? 'no NIC with a device behind it\n' : sections.join('\n');
}

export function gpuTopologyText(model: HostModel, query: string | undefined): string {
  const lines = model.gpus.map(
    ({ index, pciAddress, node, name }) =>
      `GPU ${index}: ${pciAddress} node ${node ?? 'N/A'} ${name ?? ''}\n`,
  );
  const asked = query === undefined ? '# nvidia-smi did not answer or is not here\n' : query;
  return `${lines.length === 0 ? '# no GPU found\n' : lines.join('')}${asked}`;
}

/** Statistics of every NIC; those of a NIC of the emulator come from its own files. */
export function nicStatsText(nics: readonly NicStatistics[]): string {
  if (nics.length === 0) return 'no NIC with a device behind it; interface_totals has the others\n';
  return nics.map(nicSection).join('\n');
}

export interface NicStatistics {
  readonly nic: Pick<Nic, 'name' | 'driver' | 'pciAddress' | 'node' | 'mtu' | 'speedMbps'>;
  readonly statistics: Readonly<Record<string, number>>;
  readonly isEmulated: boolean;
}

export function statisticsOf(nic: Nic): NicStatistics {
  // Where both count, the driver's own figure stands.
  const statistics = { ...nic.statistics, ...nic.ethtool?.statistics };
  return { nic, statistics, isEmulated: false };
}

function nicSection({ nic, statistics, isEmulated }: NicStatistics): string {
  const line = (name: string, value: string | number | undefined) =>
    value === undefined ? [] : [`${name}: ${value}`];
  // What matters most first, then by name.
  const rank = (name: string) => (name.includes('devmem') ? 0 : 1);
  const sorted = Object.entries(statistics).sort(
    ([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1),
  );
  return [
    `=== ${nic.name} ===`,
    'Driver info:',
    ...line('driver', nic.driver),
    ...line('bus-info', nic.pciAddress),
    ...(isEmulated ? ['evidence: emulated'] : []),
    '',
    'PCI and NUMA:',
    ...line('  PCI', nic.pciAddress),
    ...line('  NUMA', nic.node),
    ...line('  mtu', nic.mtu),
    ...line('  Speed', nic.speedMbps === undefined ? undefined : `${nic.speedMbps}Mb/s`),
    '',
    'NIC statistics:',
    ...sorted.map(([name, value]) => `     ${name}: ${value}`),
    '',
  ].join('\n');
}
