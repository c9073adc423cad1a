// How interrupts and thread ranges lie to each other as the host is now: physical or logical
// cores, on which node, and whether interrupt handlers run on the threads' cores. Pure.

import { formatCpuList } from '../../base/cpu-set.js';
import type { Irq, Nic } from '../read/model.js';
import { type CoreMap, nodesOf, physicalCores } from './core-map.js';
import { type CpuSet, intersectionOf, unionOf } from './cpu-choice.js';
import type { MappingRow } from './mapping-table.js';

export interface RangeFacts {
  readonly cpus: number;
  readonly physicalCores: number;
  readonly nodes: readonly number[];
  readonly isLocal: boolean | undefined;
}

export interface OverlapReport {
  readonly nic: string;
  readonly tx: RangeFacts;
  readonly rx: RangeFacts;
  /** CPUs that the queue interrupts are delivered to. */
  readonly irqCpus: CpuSet;
  readonly irqRemote: CpuSet;
  readonly inTx: CpuSet;
  readonly inRx: CpuSet;
  readonly txRxOverlap: CpuSet;
  readonly sharedWith: readonly string[];
  readonly text: string;
}

export interface OverlapSource {
  readonly rows: readonly MappingRow[];
  readonly nics: readonly Nic[];
  readonly irqs: readonly Irq[];
  readonly cores: CoreMap;
}

export function analyseOverlap(source: OverlapSource): readonly OverlapReport[] {
  const irqById = new Map(source.irqs.map((irq) => [irq.irq, irq]));
  return source.rows.map((row) => {
    const nic = source.nics.find((candidate) => candidate.name === row.nic);
    const queues = (nic?.vectors ?? []).filter((vector) => vector.role !== 'management');
    const delivered = queues.map(({ irq }) => {
      const line = irqById.get(irq);
      return line?.effective ?? line?.requested ?? [];
    });
    const irqCpus = unionOf(...delivered);
    const remote = irqCpus.filter((cpu) => isRemote(cpu, row.node, source.cores));
    const threads = formatCpuList(unionOf(row.tx, row.rx));
    const sharedWith = source.rows
      .filter((other) => other.nic !== row.nic && threads !== '')
      .filter((other) => formatCpuList(unionOf(other.tx, other.rx)) === threads)
      .map((other) => other.nic);
    const facts = {
      nic: row.nic,
      tx: rangeFacts(row.tx, row.node, source.cores),
      rx: rangeFacts(row.rx, row.node, source.cores),
      irqCpus,
      irqRemote: remote,
      inTx: intersectionOf(irqCpus, row.tx),
      inRx: intersectionOf(irqCpus, row.rx),
      txRxOverlap: intersectionOf(row.tx, row.rx),
      sharedWith,
    };
    return { ...facts, text: overlapText(facts) };
  });
}

function isRemote(cpu: number, node: number | undefined, cores: CoreMap): boolean {
  const own = cores.nodeOf(cpu);
  return node !== undefined && own !== undefined && own !== node;
}

function rangeFacts(cpus: CpuSet, node: number | undefined, cores: CoreMap): RangeFacts {
  const nodes = nodesOf(cpus, cores);
  const isLocal =
    node === undefined || nodes.length === 0 ? undefined : nodes.every((n) => n === node);
  return { cpus: cpus.length, physicalCores: physicalCores(cpus, cores).length, nodes, isLocal };
}

function overlapText(facts: Omit<OverlapReport, 'text'>): string {
  const parts: string[] = [`interrupts on ${formatCpuList(facts.irqCpus) || 'no CPU'}`];
  if (facts.irqRemote.length > 0) parts.push(`${formatCpuList(facts.irqRemote)} are remote`);
  const name = (use: string, range: RangeFacts) => {
    if (range.cpus === 0) return;
    const where = range.isLocal === undefined ? '' : range.isLocal ? ', node-local' : ', REMOTE';
    parts.push(`${use} ${range.cpus} CPUs = ${range.physicalCores} physical cores${where}`);
  };
  name('TX', facts.tx);
  name('RX', facts.rx);
  const meets = (use: string, cpus: CpuSet) => {
    if (cpus.length > 0) parts.push(`${cpus.length} of the interrupt CPUs lie in the ${use} cores`);
  };
  meets('TX', facts.inTx);
  meets('RX', facts.inRx);
  if (facts.txRxOverlap.length > 0) {
    parts.push(`TX and RX overlap on ${formatCpuList(facts.txRxOverlap)}`);
  }
  if (facts.sharedWith.length > 0)
    parts.push(`same thread cores as ${facts.sharedWith.join(', ')}`);
  return `${facts.nic}: ${parts.join('; ')}`;
}
