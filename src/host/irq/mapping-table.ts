// The table of NIC, node, interrupts and CPUs in seven columns: what is, what was observed, and
// which cores the threads get. One row per NIC. Pure.

import { bindingCpus, type NicBinding } from '../../base/core-bindings.js';
import { formatCpuList } from '../../base/cpu-set.js';
import type { Irq, Nic } from '../read/model.js';
import { cpuSet, unionOf } from './cpu-choice.js';

/** Interrupts of a run, as far as two snapshots around it tell. */
export interface ObservedRun {
  readonly seconds: number | undefined;
  /** By IRQ and CPU; a line that is not in it is unknown. */
  readonly interrupts: ReadonlyMap<number, ReadonlyMap<number, number>>;
  readonly busyPercent: ReadonlyMap<number, number>;
}

/** Counts since boot and counts of a run are never shown under one heading. */
export function mappingColumns(run: ObservedRun | undefined): readonly string[] {
  const observed = `observed CPUs (${countedWhen(run)})`;
  return ['NIC', 'NUMA', 'IRQs', 'affinity', observed, 'TX cores', 'RX cores'];
}

export function countedWhen(run: Pick<ObservedRun, 'seconds'> | undefined): string {
  if (run === undefined) return 'since boot';
  const length = run.seconds === undefined ? 'length unknown' : `${run.seconds.toFixed(1)} s`;
  return `in the run, ${length}`;
}

export interface MappingRow {
  readonly nic: string;
  readonly node: number | undefined;
  readonly irqs: readonly number[];
  /** Requested CPUs over all queue vectors; undefined when none could be read. */
  readonly affinity: readonly number[] | undefined;
  /** CPUs that took interrupts, busiest first; undefined when no count of its lines was read. */
  readonly observed: readonly ObservedCpu[] | undefined;
  readonly observedSource: 'run' | 'since boot';
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
  readonly run: ObservedRun | undefined;
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
        observed: observedCpus(nic, irqById, source.run),
        observedSource: source.run === undefined ? 'since boot' : 'run',
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
  run: ObservedRun | undefined,
): readonly ObservedCpu[] | undefined {
  const totals = new Map<number, number>();
  let isKnown = false;
  for (const { irq } of nic.vectors) {
    const counts = run === undefined ? sinceBoot(irqById.get(irq)) : run.interrupts.get(irq);
    if (counts === undefined) continue;
    isKnown = true;
    for (const [cpu, count] of counts) totals.set(cpu, (totals.get(cpu) ?? 0) + count);
  }
  if (!isKnown) return undefined;
  return [...totals]
    .map(([cpu, interrupts]) => ({ cpu, interrupts, busyPercent: run?.busyPercent.get(cpu) }))
    .filter((entry) => entry.interrupts > 0)
    .sort((a, b) => b.interrupts - a.interrupts || a.cpu - b.cpu);
}

function sinceBoot(irq: Irq | undefined): ReadonlyMap<number, number> | undefined {
  if (irq?.countByCpu === undefined) return undefined;
  return new Map(Object.entries(irq.countByCpu).map(([cpu, count]) => [Number(cpu), count]));
}

const BUSIEST_SHOWN = 3;

/** Cells as text; what could not be read is `N/A`, which is not the same as none. */
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

function observedText(observed: readonly ObservedCpu[] | undefined): string {
  if (observed === undefined) return 'N/A';
  if (observed.length === 0) return '-';
  const all = formatCpuList(cpuSet(observed.map(({ cpu }) => cpu)));
  const busiest = observed.slice(0, BUSIEST_SHOWN).map(({ cpu, interrupts, busyPercent }) => {
    const busy = busyPercent === undefined ? '' : ` ${busyPercent.toFixed(0)}% busy`;
    return `${cpu}: ${interrupts}${busy}`;
  });
  return `${all} (most ${busiest.join(', ')})`;
}
