// A plan: for each queue interrupt the CPUs it shall have, why, and what is doubtful about it; with
// the thread ranges that belong to it. A plan is a file: it can be read, kept, applied at boot and
// undone. Vectors are identified by PCI address and index, since IRQ numbers change. Pure.

import { assert, at } from '../../base/assert.js';
import { bindingOf, formatBindings } from '../../base/core-bindings.js';
import { formatCpuList } from '../../base/cpu-set.js';
import type { Irq, Nic, NicVector } from '../read/model.js';
import type { NicAllocation } from './allocation.js';
import { type CpuSet, cpuSet, intersectionOf, unionOf } from './cpu-choice.js';
import { requireFormattedMask } from './cpu-mask.js';
import type { KnownVector } from './known-vector.js';
import {
  busyCpus,
  loadReport,
  type ObservedLoad,
  type PlanLoad,
  placeByLoad,
  totalOf,
} from './load-placement.js';
import {
  loadWarnings,
  type PlanWarning,
  type WarningContext,
  warningsFor,
} from './plan-warning.js';
import {
  describeVector,
  type Placement,
  POLICIES,
  type PolicyName,
  type PolicyRequest,
  placeName,
} from './policy.js';

import { planXps, type XpsLine } from './xps-plan.js';

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
  /** Which send queue the sending cores take; absent in plans that leave it alone. */
  readonly xps?: readonly XpsLine[];
  /** Why this policy, where none was named. */
  readonly choice?: string;
  /** Interrupts per CPU as they were counted in a run or since boot, and as planned. */
  readonly load?: PlanLoad;
  /** Of the plan as a whole; those of single lines are with the lines. */
  readonly warnings: readonly PlanWarning[];
  /** What could not be read, each with what was assumed instead. */
  readonly unknowns: readonly string[];
  readonly notes: readonly string[];
}

export interface PlanSource {
  readonly hostname: string | undefined;
  readonly irqs: readonly Irq[];
}

export function affinityPath(irq: number): string {
  return `/proc/irq/${irq}/smp_affinity_list`;
}

export function buildPlan(name: PolicyName, wish: PolicyRequest, source: PlanSource): IrqPlan {
  const request = withBusyCpus(wish);
  const { nics: allocations, application } = POLICIES[name].allocate(request);
  const wishes = allocations.flatMap((allocation) => wishesOf(allocation, request));
  const { placements, load } = placeAll(name, wishes, request);
  const drafts = wishes.map((wish, index) => {
    const placement = placements[index];
    assert(placement !== undefined, 'every wish has its placement');
    return draftLine(wish, placement, request);
  });
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
  const xps =
    request.hasXps === false
      ? { lines: [], notes: [] }
      : planXps(allocations, request.nics, request.cores);
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
    ...(xps.lines.length === 0 ? {} : { xps: xps.lines }),
    ...(load === undefined ? {} : { load }),
    warnings: loadWarnings(load),
    unknowns: planUnknowns(request, allocations, load),
    notes: [...planNotes(request, allocations, drafts), ...xps.notes],
  };
}

function withBusyCpus(request: PolicyRequest): PolicyRequest {
  const counted = request.observed ?? request.counted;
  if (counted === undefined) return request;
  const irqs = request.nics.flatMap((nic) => queueVectors(nic).map(({ irq }) => irq));
  return { ...request, busy: busyCpus(counted, irqs) };
}

type DraftLine = Omit<PlanLine, 'before' | 'warnings'> & { readonly node: number | undefined };

/** A queue vector that wants CPUs, with the cores of its NIC. */
interface Wish {
  readonly nic: Nic;
  readonly vector: NicVector;
  readonly allocation: NicAllocation;
}

function wishesOf(allocation: NicAllocation, request: PolicyRequest): readonly Wish[] {
  const nic = request.nics.find((candidate) => candidate.name === allocation.nic);
  if (nic === undefined) return [];
  return queueVectors(nic).map((vector) => ({ nic, vector, allocation }));
}

interface Placements {
  readonly placements: readonly Placement[];
  readonly load: PlanLoad | undefined;
}

/** As the policy deals queues out; where a run was observed, by load over all NICs at once. */
function placeAll(name: PolicyName, wishes: readonly Wish[], request: PolicyRequest): Placements {
  const policy = POLICIES[name];
  const { observed } = request;
  if (observed === undefined) {
    const place = ({ vector, allocation }: Wish) => policy.place(vector, allocation, request);
    const placements = wishes.map(place);
    return { placements, load: measured(wishes, placements, request.counted) };
  }
  const jobs = wishes.map(({ vector, allocation }) => ({
    irq: vector.irq,
    allowed: policy.candidates(vector, allocation, request),
  }));
  const placed = placeByLoad(jobs, observed, request.cores);
  const placements = wishes.map(({ vector, allocation }) => {
    const cpu = placed.get(vector.irq);
    if (cpu === undefined) return { cpus: [], reason: 'no core is left for interrupts' };
    const allowed = policy.candidates(vector, allocation, request);
    const reason =
      `${describeVector(vector)}: ${placeName(cpu, request)}, by load ` +
      `(${totalOf(observed, vector.irq)} interrupts) among ${formatCpuList(allowed)}`;
    return { cpus: [cpu], reason };
  });
  const irqs = jobs.map(({ irq }) => irq);
  return { placements, load: loadReport(placed, irqs, observed) };
}

/** By counts that did not place it. Which CPU of a wide mask takes the line is not known. */
function measured(
  wishes: readonly Wish[],
  placements: readonly Placement[],
  counted: ObservedLoad | undefined,
): PlanLoad | undefined {
  if (counted === undefined || placements.some(({ cpus }) => cpus.length > 1)) return undefined;
  const placed = new Map<number, number>();
  for (const [index, { vector }] of wishes.entries()) {
    const [cpu] = at(placements, index).cpus;
    if (cpu !== undefined) placed.set(vector.irq, cpu);
  }
  const irqs = wishes.map(({ vector }) => vector.irq);
  return loadReport(placed, irqs, counted);
}

/** A line before anything is known of the other lines. */
function draftLine(
  { nic, vector, allocation }: Wish,
  { cpus, reason }: Placement,
  request: PolicyRequest,
): DraftLine {
  return {
    irq: vector.irq,
    nic: allocation.nic,
    node: allocation.node,
    pciAddress: nic.pciAddress,
    vectorIndex: vector.index,
    vectorName: vector.name,
    queue: describeVector(vector),
    cpus,
    value: formatCpuList(cpus),
    path: affinityPath(vector.irq),
    mask: requireFormattedMask(cpus, request.cores.possibleCount),
    reason,
  };
}

/** The part of a plan that concerns one NIC; the others keep the cores that it gave them. */
export function planOfNic(plan: IrqPlan, nic: string): IrqPlan {
  return planOfNics(plan, [nic]);
}

/** The part of a plan that is about these NICs. */
export function planOfNics(plan: IrqPlan, nics: readonly string[]): IrqPlan {
  const isNamed = ({ nic }: { readonly nic: string }) => nics.includes(nic);
  const allocations = plan.allocations.filter(isNamed);
  return {
    ...plan,
    allocations,
    txBindings: bindingText(allocations, (allocation) => allocation.tx),
    rxBindings: bindingText(allocations, (allocation) => allocation.rx),
    lines: plan.lines.filter(isNamed),
    ...(plan.xps === undefined ? {} : { xps: plan.xps.filter(isNamed) }),
  };
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

/** What the plan could not know, and what it assumed instead. */
function planUnknowns(
  { nics, cores }: PolicyRequest,
  allocations: readonly NicAllocation[],
  load: PlanLoad | undefined,
): string[] {
  const unknowns: string[] = [];
  if (!cores.areSiblingsKnown) {
    unknowns.push('hardware threads of some CPUs: each of those counts as a core');
  }
  for (const { name, node } of nics) {
    if (cores.isNodeKnown(node) || !allocations.some(({ nic }) => nic === name)) continue;
    const what = node === undefined ? 'the NUMA node' : `the CPUs of node ${node}`;
    unknowns.push(`${what} of ${name}: all online CPUs count as local`);
  }
  const silent = load?.unknownIrqs ?? [];
  if (silent.length > 0) {
    unknowns.push(`interrupts of IRQ ${formatCpuList(silent)}: counted as if idle`);
  }
  return unknowns;
}

function planNotes(
  { nics, busy = [] }: PolicyRequest,
  allocations: readonly NicAllocation[],
  drafts: readonly DraftLine[],
): string[] {
  const notes: string[] = [];
  for (const nic of nics) {
    if (!allocations.some((allocation) => allocation.nic === nic.name)) continue;
    if (queueVectors(nic).length === 0) notes.push(`${nic.name} has no queue vector to bind`);
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
  const loaded = intersectionOf(busy, unionOf(...allocations.flatMap(({ tx, rx }) => [tx, rx])));
  if (loaded.length > 0) {
    notes.push(`thread cores ${formatCpuList(loaded)} also take many interrupts of other devices`);
  }
  const wideCount = drafts.filter(({ cpus }) => cpus.length > 1).length;
  if (wideCount > 0) {
    notes.push(
      `${wideCount} lines get more than one CPU; x86 delivers a line to one CPU of its mask, ` +
        'which the kernel chooses: a wide mask does not spread a queue',
    );
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
