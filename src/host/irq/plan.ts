// A plan: for each queue interrupt the CPUs it shall have, why, and what is doubtful about it; with
// the thread ranges that belong to it. A plan is a file: it can be read, kept, applied at boot and
// undone. Vectors are identified by PCI address and index, since IRQ numbers change. Pure.

import { bindingOf, formatBindings } from '../../base/core-bindings.js';
import type { Irq, Nic, NicVector } from '../read/model.js';
import type { NicAllocation } from './allocation.js';
import { requireFormattedMask } from './cpu-mask.js';
import { formatCpuList } from '../../base/cpu-set.js';
import { type CpuSet, cpuSet, unionOf } from './cpu-choice.js';
import type { KnownVector } from './known-vector.js';
import { type PlanWarning, type WarningContext, warningsFor } from './plan-warning.js';
import { POLICIES, type PolicyName, type PolicyRequest, describeVector } from './policy.js';

export const IRQ_PLAN_SCHEMA = 'tcpx.irq-plan/1';

export interface PlanLine extends KnownVector {
  readonly cpus: CpuSet;
  /** Exactly what is written, and where. */
  readonly value: string;
  readonly path: string;
  readonly mask: string;
  /** CPUs requested when the plan was made; undefined where unreadable. */
  readonly before: CpuSet | undefined;
  readonly reason: string;
  readonly warnings: readonly PlanWarning[];
}

export interface IrqPlan {
  readonly schema: typeof IRQ_PLAN_SCHEMA;
  readonly hostname: string | undefined;
  readonly policy: PolicyName;
  readonly possibleCount: number;
  readonly application: CpuSet;
  readonly allocations: readonly NicAllocation[];
  /** Values for the plugin's variables; empty where the policy places no threads. */
  readonly txBindings: string;
  readonly rxBindings: string;
  readonly lines: readonly PlanLine[];
  readonly notes: readonly string[];
}

export interface PlanSource {
  readonly hostname: string | undefined;
  readonly irqs: readonly Irq[];
}

export function affinityPath(irq: number): string {
  return `/proc/irq/${irq}/smp_affinity_list`;
}

export function buildPlan(name: PolicyName, request: PolicyRequest, source: PlanSource): IrqPlan {
  const { nics: allocations, application } = POLICIES[name].allocate(request);
  const drafts = allocations.flatMap((allocation) => draftLines(name, allocation, request));
  const irqCpusByNic = new Map<string, CpuSet>();
  for (const { nic, cpus } of drafts) {
    irqCpusByNic.set(nic, unionOf(irqCpusByNic.get(nic) ?? [], cpus));
  }
  const context: WarningContext = { cores: request.cores, application, allocations, irqCpusByNic };
  const irqById = new Map(source.irqs.map((irq) => [irq.irq, irq]));
  const lines = drafts.map(({ node, ...draft }) => ({
    ...draft,
    before: optionalSet(irqById.get(draft.irq)?.requested),
    warnings: warningsFor({ nic: draft.nic, node, cpus: draft.cpus }, context),
  }));
  return {
    schema: IRQ_PLAN_SCHEMA,
    hostname: source.hostname,
    policy: name,
    possibleCount: request.cores.possibleCount,
    application,
    allocations,
    txBindings: bindingText(allocations, (allocation) => allocation.tx),
    rxBindings: bindingText(allocations, (allocation) => allocation.rx),
    lines,
    notes: planNotes(request.nics, allocations),
  };
}

type DraftLine = Omit<PlanLine, 'before' | 'warnings'> & { readonly node: number | undefined };

/** One line per queue vector of a NIC, before anything is known of the other lines. */
function draftLines(
  name: PolicyName,
  allocation: NicAllocation,
  request: PolicyRequest,
): readonly DraftLine[] {
  const nic = request.nics.find((candidate) => candidate.name === allocation.nic);
  return queueVectors(nic).map((vector) => {
    const { cpus, reason } = POLICIES[name].place(vector, allocation, request);
    return {
      irq: vector.irq,
      nic: allocation.nic,
      node: allocation.node,
      pciAddress: nic?.pciAddress,
      vectorIndex: vector.index,
      vectorName: vector.name,
      queue: describeVector(vector),
      cpus,
      value: formatCpuList(cpus),
      path: affinityPath(vector.irq),
      mask: requireFormattedMask(cpus, request.cores.possibleCount),
      reason,
    };
  });
}

/** Vectors that carry packets; management vectors and idle ones stay as they are. */
export function queueVectors(nic: Nic | undefined): readonly NicVector[] {
  return (nic?.vectors ?? []).filter(
    (vector) => vector.role !== 'management' && vector.role !== 'unused',
  );
}

function optionalSet(cpus: readonly number[] | undefined): CpuSet | undefined {
  return cpus === undefined ? undefined : cpuSet(cpus);
}

function bindingText(
  allocations: readonly NicAllocation[],
  choose: (allocation: NicAllocation) => CpuSet,
): string {
  const bindings = allocations
    .filter((allocation) => choose(allocation).length > 0)
    .map((allocation) => bindingOf(allocation.nic, choose(allocation)));
  return formatBindings(bindings);
}

function planNotes(nics: readonly Nic[], allocations: readonly NicAllocation[]): string[] {
  const notes: string[] = [];
  for (const nic of nics) {
    if (!allocations.some((allocation) => allocation.nic === nic.name)) continue;
    if (queueVectors(nic).length === 0) notes.push(`${nic.name} has no queue vector to bind`);
    if (nic.node === undefined) {
      notes.push(`${nic.name}: its NUMA node is unknown; all online CPUs count as local`);
    }
    if (nic.isThreadedNapi === true) {
      notes.push(
        `${nic.name} uses threaded NAPI: packets are processed by kernel threads, which the ` +
          'interrupt’s affinity does not place',
      );
    }
  }
  for (const [set, owners] of sharedThreadSets(allocations)) {
    notes.push(`${owners.join(' and ')} share the thread cores ${set}`);
  }
  return notes;
}

function sharedThreadSets(
  allocations: readonly NicAllocation[],
): readonly (readonly [string, readonly string[]])[] {
  const owners = new Map<string, string[]>();
  for (const { nic, tx, rx } of allocations) {
    const set = formatCpuList(unionOf(tx, rx));
    if (set !== '') owners.set(set, [...(owners.get(set) ?? []), nic]);
  }
  return [...owners].filter(([, names]) => names.length > 1);
}
