// How interrupts and thread ranges lie to each other as the host is now: physical or logical
// cores, on which node, and whether interrupt handlers run on the threads' cores. Pure.

import { formatCpuList } from '../../base/cpu-set.js';
import type { Irq, Nic } from '../read/model.js';
import { type NicIrqCpus, nicIrqCpus } from '../read/nics.js';
import { type CoreMap, nodesOf, physicalCores } from './core-map.js';
import { type CpuSet, intersectionOf, unionOf } from './cpu-choice.js';
import type { MappingRow } from './mapping-table.js';

export interface RangeFacts {
  readonly cpus: number;
  /** undefined where the hardware threads of a core are not known. */
  readonly physicalCores: number | undefined;
  readonly nodes: readonly number[];
  readonly isLocal: boolean | undefined;
}

export interface OverlapReport {
  readonly nic: string;
  readonly tx: RangeFacts;
  readonly rx: RangeFacts;
  /** CPUs of the queue interrupts, and whether they are delivered there or only asked for. */
  readonly irqCpus: CpuSet;
  readonly irqCertainty: NicIrqCpus['certainty'];
  /** undefined where the node of the NIC or of a CPU is not known. */
  readonly irqRemote: CpuSet | undefined;
  readonly inTx: CpuSet;
  readonly inRx: CpuSet;
  readonly txRxOverlap: CpuSet;
  /** NICs whose threads have the same cores. */
  readonly sharedWith: readonly string[];
}

export interface OverlapSource {
  readonly rows: readonly MappingRow[];
  readonly nics: readonly Nic[];
  readonly irqs: readonly Irq[];
  readonly cores: CoreMap;
}

export function analyseOverlap(source: OverlapSource): readonly OverlapReport[] {
  return source.rows.flatMap((row) => {
    const nic = source.nics.find((candidate) => candidate.name === row.nic);
    if (nic === undefined) return [];
    const { cpus: irqCpus, certainty } = nicIrqCpus(nic, source.irqs);
    const threads = formatCpuList(unionOf(row.tx, row.rx));
    const sharedWith = source.rows
      .filter((other) => other.nic !== row.nic && threads !== '')
      .filter((other) => formatCpuList(unionOf(other.tx, other.rx)) === threads)
      .map((other) => other.nic);
    const report = {
      nic: row.nic,
      tx: rangeFacts(row.tx, row.node, source.cores),
      rx: rangeFacts(row.rx, row.node, source.cores),
      irqCpus,
      irqCertainty: certainty,
      irqRemote: remoteCpus(irqCpus, row.node, source.cores),
      inTx: intersectionOf(irqCpus, row.tx),
      inRx: intersectionOf(irqCpus, row.rx),
      txRxOverlap: intersectionOf(row.tx, row.rx),
      sharedWith,
    };
    return [report];
  });
}

function remoteCpus(cpus: CpuSet, node: number | undefined, cores: CoreMap): CpuSet | undefined {
  const nodes = cpus.map((cpu) => cores.nodeOf(cpu));
  if (node === undefined || nodes.includes(undefined)) return undefined;
  return cpus.filter((_, index) => nodes[index] !== node);
}

function rangeFacts(cpus: CpuSet, node: number | undefined, cores: CoreMap): RangeFacts {
  const nodes = nodesOf(cpus, cores);
  const isKnown = node !== undefined && cpus.every((cpu) => cores.nodeOf(cpu) !== undefined);
  const isLocal = isKnown && cpus.length > 0 ? nodes.every((n) => n === node) : undefined;
  const coreCount = cores.areSiblingsKnown ? physicalCores(cpus, cores).length : undefined;
  return { cpus: cpus.length, physicalCores: coreCount, nodes, isLocal };
}
