// The table of NIC, node, interrupts and CPUs in seven columns: what is, what was observed, and
// which cores the threads get. One row per NIC. Pure.

import { bindingCpus, type NicBinding } from '../../base/core-bindings.js';
import { formatCpuList } from '../../base/cpu-set.js';
import type { Irq, Nic } from '../read/model.js';
import type { Observation } from './observation.js';
import { cpuSet, unionOf } from './cpu-choice.js';

export const MAPPING_COLUMNS = [
  'NIC',
  'NUMA',
  'IRQs',
  'affinity',
  'observed CPUs',
  'TX cores',
  'RX cores',
] as const;

export interface MappingRow {
  readonly nic: string;
  readonly node: number | undefined;
  readonly irqs: readonly number[];
  /** Requested CPUs over all queue vectors; undefined when none could be read. */
  readonly affinity: readonly number[] | undefined;
  /** CPUs that took interrupts, busiest first. */
  readonly observed: readonly ObservedCpu[];
  readonly observedSource: 'bundle' | 'since boot';
  readonly tx: readonly number[];
  readonly rx: readonly number[];
}

export interface ObservedCpu {
  readonly cpu: number;
  readonly interrupts: number;
  readonly busyPercent: number | undefined;
}

export interface MappingSource {
  readonly nics: readonly Nic[];
  readonly irqs: readonly Irq[];
  readonly txBindings: readonly NicBinding[];
  readonly rxBindings: readonly NicBinding[];
  readonly observation: Observation | undefined;
}

export function mappingTable(source: MappingSource): readonly MappingRow[] {
  const irqById = new Map(source.irqs.map((irq) => [irq.irq, irq]));
  return source.nics
    .filter((nic) => nic.vectors.length > 0)
    .map((nic) => {
      const queues = nic.vectors.filter((vector) => vector.role !== 'management');
      const known = queues.map((vector) => irqById.get(vector.irq)?.requested);
      const readable = known.filter((cpus) => cpus !== undefined);
      return {
        nic: nic.name,
        node: nic.node,
        irqs: nic.vectors.map((vector) => vector.irq),
        affinity: readable.length === 0 ? undefined : unionOf(...readable),
        observed: observedCpus(nic, irqById, source.observation),
        observedSource: source.observation === undefined ? 'since boot' : 'bundle',
        tx: cpusOf(nic.name, source.txBindings),
        rx: cpusOf(nic.name, source.rxBindings),
      };
    });
}

function cpusOf(nic: string, bindings: readonly NicBinding[]): readonly number[] {
  const binding = bindings.find((candidate) => candidate.nic === nic);
  return binding === undefined ? [] : bindingCpus(binding);
}

function observedCpus(
  nic: Nic,
  irqById: ReadonlyMap<number, Irq>,
  observation: Observation | undefined,
): readonly ObservedCpu[] {
  const totals = new Map<number, number>();
  for (const { irq } of nic.vectors) {
    const counts =
      observation === undefined
        ? Object.entries(irqById.get(irq)?.countByCpu ?? {})
        : (observation.interrupts.get(irq) ?? []);
    for (const [cpu, count] of counts) {
      totals.set(Number(cpu), (totals.get(Number(cpu)) ?? 0) + count);
    }
  }
  return [...totals]
    .map(([cpu, interrupts]) => ({
      cpu,
      interrupts,
      busyPercent: observation?.busyPercent.get(cpu),
    }))
    .filter((entry) => entry.interrupts > 0)
    .sort((a, b) => b.interrupts - a.interrupts || a.cpu - b.cpu);
}

const BUSIEST_SHOWN = 3;

/** Cells as text; an unreadable affinity is `N/A`, which is not the same as none. */
export function mappingCells(row: MappingRow): readonly string[] {
  const list = (cpus: readonly number[]) => (cpus.length === 0 ? '-' : formatCpuList(cpus));
  return [
    row.nic,
    row.node === undefined ? '?' : String(row.node),
    list(row.irqs),
    row.affinity === undefined ? 'N/A' : list(row.affinity),
    observedText(row.observed),
    list(row.tx),
    list(row.rx),
  ];
}

function observedText(observed: readonly ObservedCpu[]): string {
  if (observed.length === 0) return '-';
  const all = formatCpuList(cpuSet(observed.map(({ cpu }) => cpu)));
  const busiest = observed.slice(0, BUSIEST_SHOWN).map(({ cpu, interrupts, busyPercent }) => {
    const busy = busyPercent === undefined ? '' : ` ${busyPercent.toFixed(0)}% busy`;
    return `${cpu}: ${interrupts}${busy}`;
  });
  return `${all} (most ${busiest.join(', ')})`;
}
