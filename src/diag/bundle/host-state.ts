// Writes what a host says of itself before and after a run into its bundle.

import type { EnvironmentValues } from '../../host/environment/preset.js';
import { growthBetween } from '../../host/nic/counter-growth.js';
import { emulatedNics, readEmulatedStatistics } from '../../host/read/emulated-nics.js';
import type { HostModel, Nic } from '../../host/read/model.js';
import type { HostSource } from '../../host/read/read-host.js';
import { findRxdm, readProcesses } from '../collect.js';
import { pairInterrupts } from '../parse/interrupt-pair.js';
import type { BundleWriter } from './bundle-writer.js';
import {
  affinityText,
  alignColumns,
  cpuTopologyText,
  gpuTopologyText,
  irqMappingText,
  type NicStatistics,
  nicStatsText,
  numaTopologyText,
  statisticsOf,
} from './host-texts.js';
import { processesText } from './process-places.js';
import { safeVariables } from './safe-variables.js';

/** The host at one moment, as far as deltas need it. */
export interface HostState {
  readonly model: HostModel;
  readonly nics: readonly Nic[];
  readonly statistics: readonly NicStatistics[];
  readonly interrupts: string;
}

export interface StateWish {
  readonly source: HostSource;
  readonly model: HostModel;
  readonly nics: readonly Nic[];
  readonly named: readonly string[];
  /** Folder of the plugin emulator's counters; empty without it. */
  readonly emulatedFolder: string;
}

export function readState({ source, model, nics, named, emulatedFolder }: StateWish): HostState {
  const statistics =
    emulatedFolder === '' ? nics.map(statisticsOf) : emulatedStatistics(emulatedFolder, named);
  return { model, nics, statistics, interrupts: source.files.read('/proc/interrupts') ?? '' };
}

/** A NIC of the emulator has no file before its first packet: those that are named count too. */
export function emulatedNames(folder: string, named: readonly string[]): readonly string[] {
  return [...new Set([...named, ...emulatedNics(folder)])];
}

function emulatedStatistics(folder: string, named: readonly string[]): readonly NicStatistics[] {
  const unknown = { driver: 'emulator', pciAddress: undefined, node: undefined };
  return emulatedNames(folder, named).map((name) => ({
    nic: { name, ...unknown, mtu: undefined, speedMbps: undefined },
    statistics: readEmulatedStatistics(folder, name),
    isEmulated: true,
  }));
}

export interface BeforeWish {
  readonly state: HostState;
  readonly source: HostSource;
  readonly environment: EnvironmentValues;
  /** Lines about versions and the command, as comments. */
  readonly heading: string;
  /** Host and time, for the names of the four snapshots. */
  readonly place: string;
}

export function writeBefore(writer: BundleWriter, wish: BeforeWish): void {
  const { state, source, environment, place } = wish;
  const { model, nics, interrupts } = state;
  const { files } = source;
  const affinity = affinityText(model, nics);
  const mapping = irqMappingText(model, nics);
  const numa = numaTopologyText(model, nics);
  const texts: readonly (readonly [string, string])[] = [
    ['hostname.txt', `${model.hostname ?? ''}\n`],
    ['kernel.txt', `${model.kernelRelease ?? ''}\n`],
    ['irq_before.txt', interrupts],
    ['irq_affinity.txt', affinity],
    ['nic_irq_mapping.txt', mapping],
    ['nic_numa_topology.txt', numa],
    [`irq_snapshot_${place}.txt`, interrupts],
    [`irq_affinity_${place}.txt`, affinity],
    [`nic_irq_mapping_${place}.txt`, mapping],
    [`nic_numa_topology_${place}.txt`, numa],
    ['cpu_topology.txt', cpuTopologyText(model)],
    ['gpu_topology.txt', gpuTopologyText(model, source.probes.nvidiaSmi())],
    ['nic_stats_before.txt', nicStatsText(state.statistics)],
    ['interface_totals_before.txt', files.read('/proc/net/dev') ?? 'not readable\n'],
    ['environment.txt', `${wish.heading}${variableLines(environment)}`],
    ['limits.txt', `${JSON.stringify(model.limits, null, 2)}\n`],
    ['processes_before.txt', processesText(files)],
    ['dp_manager.txt', rxdmText(source, environment)],
  ];
  for (const [name, text] of texts) writer.write(name, text);
}

function variableLines(environment: EnvironmentValues): string {
  const lines = Object.entries(safeVariables(environment)).map(
    ([name, value]) => `${name}=${value.replaceAll(/[\n\r]/g, ' ')}\n`,
  );
  return lines.length === 0
    ? '# no variable of NCCL, the plugin or this package is set\n'
    : lines.join('');
}

function rxdmText({ files }: HostSource, environment: EnvironmentValues): string {
  const { processes, prefix, sockets, journal } = findRxdm(
    files,
    readProcesses(files),
    environment,
  );
  const none = (lines: readonly string[]) => (lines.length === 0 ? ['  none'] : lines);
  return [
    'receive manager processes',
    ...none(processes.map(({ pid, name }) => `  ${pid} ${name}`)),
    `sockets in ${prefix}`,
    ...none((sockets ?? []).map((name) => `  ${name}`)),
    'suspicious journal lines of the last hour',
    ...(journal === undefined ? ['  the journal cannot be read'] : none(journal)),
    '',
  ].join('\n');
}

export function writeAfter(
  writer: BundleWriter,
  source: HostSource,
  before: HostState,
  after: HostState,
): void {
  writer.write('irq_after.txt', after.interrupts);
  writer.write('irq_affinity_after.txt', affinityText(after.model, after.nics));
  writer.write('nic_stats_after.txt', nicStatsText(after.statistics));
  writer.write(
    'interface_totals_after.txt',
    source.files.read('/proc/net/dev') ?? 'not readable\n',
  );
  writer.write('irq_delta.txt', irqDeltaText(before, after));
  writer.write('nic_stats_delta.txt', nicDeltaText(before, after));
}

export function irqDeltaText(before: HostState, after: HostState): string {
  const pair = pairInterrupts(before.interrupts, after.interrupts);
  const nicOf = new Map(
    after.nics.flatMap(({ name, vectors }) => vectors.map(({ irq }) => [irq, name] as const)),
  );
  const rows = [...pair.grown].flatMap(([irq, byCpu]) => {
    const total = [...byCpu.values()].reduce((sum, count) => sum + count, 0);
    if (total === 0) return [];
    const most = [...byCpu].sort(([, a], [, b]) => b - a);
    const cpus = most.map(([cpu, count]) => `${cpu}:${count}`).join(',');
    return [{ total, cells: [String(irq), nicOf.get(irq) ?? '-', String(total), cpus] }];
  });
  rows.sort((a, b) => b.total - a.total);
  const notes = [
    ['counters that began again', pair.resetIrqs],
    ['new lines', pair.newIrqs],
    ['lines that went', pair.goneIrqs],
    ['CPUs that came', pair.cpusAppeared],
    ['CPUs that went', pair.cpusGone],
  ] as const;
  return (
    alignColumns([['IRQ', 'NIC', 'count', 'by CPU'], ...rows.map(({ cells }) => cells)]) +
    notes
      .flatMap(([what, list]) => (list.length === 0 ? [] : [`${what}: ${list.join(',')}\n`]))
      .join('')
  );
}

export function nicDeltaText(before: HostState, after: HostState): string {
  const sections = after.statistics.map(({ nic, statistics }) => {
    const earlier = before.statistics.find((one) => one.nic.name === nic.name)?.statistics ?? {};
    const { grown, fell } = growthBetween(earlier, statistics);
    const moved = Object.entries(grown).filter(([name, n]) => n > 0 || name === 'rx_devmem_pkts');
    // The counter that proves device memory stands first.
    moved.sort(([a], [b]) => Number(b === 'rx_devmem_pkts') - Number(a === 'rx_devmem_pkts'));
    const lines = moved.map(([name, count]) => `     ${name}: ${count}\n`);
    const gone = fell.length === 0 ? '' : `     fell: ${fell.join(' ')}\n`;
    return `=== ${nic.name} ===\n${lines.join('')}${gone}`;
  });
  return sections.length === 0 ? 'no NIC with a device behind it\n' : sections.join('\n');
}
