// Which cores a NIC's threads and interrupts get under a policy: per node, never by interface name.
// Allocation speaks of physical cores first, so that two jobs do not meet on one core's
// hyperthreads. Pure.

import { bindingCpus, type NicBinding } from '../../base/core-bindings.js';
import type { Nic } from '../read/model.js';
import { type CoreMap, cutEvenly, physicalCores, withSiblings } from './core-map.js';
import { type CpuSet, cpuSet, differenceOf, intersectionOf, unionOf } from './cpu-choice.js';

export interface NicAllocation {
  readonly nic: string;
  readonly node: number | undefined;
  /** Cores of the threads that send and receive. */
  readonly tx: CpuSet;
  readonly rx: CpuSet;
  /** Cores for the queue interrupts. */
  readonly irq: CpuSet;
}

export interface AllocationRequest {
  readonly nics: readonly Nic[];
  readonly cores: CoreMap;
  /** Cores that the application keeps for itself; undefined lets the policy choose. */
  readonly application: CpuSet | undefined;
  readonly txBindings: readonly NicBinding[];
  readonly rxBindings: readonly NicBinding[];
  /** Physical cores to add to (positive) or take from (negative) each set. */
  readonly adjustCores: number;
  /** CPUs that other devices keep busy: left out of slices while enough others remain. */
  readonly busy?: CpuSet;
}

export interface Allocation {
  readonly nics: readonly NicAllocation[];
  readonly application: CpuSet;
}

// Eight of 52 cores per node, the share that the A3-high reference run leaves to the application.
const APPLICATION_SHARE = 8 / 52;

interface NodeGroup {
  readonly node: number | undefined;
  readonly nics: readonly Nic[];
}

function groupByNode(nics: readonly Nic[]): readonly NodeGroup[] {
  const groups = new Map<number | undefined, Nic[]>();
  for (const nic of nics) groups.set(nic.node, [...(groups.get(nic.node) ?? []), nic]);
  return [...groups].map(([node, members]) => ({ node, nics: members }));
}

/** TX and RX ranges as given; the interrupts of a NIC may use both. */
export function allocateGiven(request: AllocationRequest): Allocation {
  const nics = request.nics.map((nic) => {
    const tx = cpusFor(nic.name, request.txBindings);
    const rx = cpusFor(nic.name, request.rxBindings);
    return { nic: nic.name, node: nic.node, tx, rx, irq: unionOf(tx, rx) };
  });
  return adjusted({ nics, application: request.application ?? [] }, request, true);
}

function cpusFor(nic: string, bindings: readonly NicBinding[]): CpuSet {
  const binding = bindings.find((candidate) => candidate.nic === nic);
  return binding === undefined ? [] : bindingCpus(binding);
}

/** Node cores in three parts: send threads, receive threads, interrupts; IRQ cores per NIC. */
export function allocateSplit(request: AllocationRequest): Allocation {
  const application: number[] = [...(request.application ?? [])];
  const nics = groupByNode(request.nics).flatMap((group) => {
    const all = physicalCores(request.cores.nodeCpus(group.node), request.cores);
    const kept =
      request.application ??
      withSiblings(
        all.slice(0, Math.max(1, Math.round(all.length * APPLICATION_SHARE))),
        request.cores,
      );
    application.push(...kept);
    const free = freeCores(all, kept, request.cores);
    const [tx = [], rx = [], irq = []] = cutEvenly(free, 3);
    const irqParts = cutEvenly(irq, group.nics.length);
    return group.nics.map((nic, index) => ({
      nic: nic.name,
      node: group.node,
      tx: withSiblings(tx, request.cores),
      rx: withSiblings(rx, request.cores),
      irq: irqParts[index] ?? [],
    }));
  });
  return adjusted({ nics, application: cpuSet(application) }, request, false);
}

/** A slice of the node's cores per NIC, one core per queue; threads take what is left. */
export function allocateSlices(request: AllocationRequest, withThreads: boolean): Allocation {
  const application = request.application ?? [];
  const nics = groupByNode(request.nics).flatMap((group) => {
    const nodeCpus = request.cores.nodeCpus(group.node);
    const free = freeCores(physicalCores(nodeCpus, request.cores), application, request.cores);
    const wanted = group.nics.reduce((sum, nic) => sum + Math.max(1, queueCount(nic)), 0);
    const quiet = differenceOf(free, physicalCores(request.busy ?? [], request.cores));
    const usable = quiet.length >= wanted ? quiet : free;
    const slices = cutEvenly(usable, group.nics.length).map((slice, index) => {
      const queues = queueCount(group.nics[index]);
      return slice.slice(0, Math.max(1, queues));
    });
    const used = withSiblings(cpuSet(slices.flat()), request.cores);
    const spare = differenceOf(differenceOf(nodeCpus, application), used);
    const threads = spare.length > 0 ? spare : differenceOf(nodeCpus, application);
    return group.nics.map((nic, index) => {
      const slice = slices[index] ?? [];
      const irq = withThreads ? withSiblings(slice, request.cores) : slice;
      return { nic: nic.name, node: group.node, tx: threads, rx: threads, irq };
    });
  });
  return adjusted({ nics, application }, request, false);
}

/** The same cores for all NICs that were named. */
export function allocateManual(request: AllocationRequest, chosen: CpuSet): Allocation {
  const given = allocateGiven(request);
  return { ...given, nics: given.nics.map((nic) => ({ ...nic, irq: chosen })) };
}

// CPU 0 takes the work that nobody else claims; the core is left out while others remain.
function freeCores(all: CpuSet, application: CpuSet, map: CoreMap): CpuSet {
  const free = differenceOf(all, physicalCores(application, map));
  const withoutZero = differenceOf(free, [0]);
  return withoutZero.length > 0 ? withoutZero : free.length > 0 ? free : all;
}

function queueCount(nic: Nic | undefined): number {
  const queues = (nic?.vectors ?? []).map((vector) => vector.queue ?? -1);
  return Math.max(0, ...queues.map((queue) => queue + 1));
}

function adjusted(
  allocation: Allocation,
  request: AllocationRequest,
  isIrqFromThreads: boolean,
): Allocation {
  if (request.adjustCores === 0) return allocation;
  const nics = allocation.nics.map((nic) => {
    const others = (...sets: readonly CpuSet[]) => unionOf(allocation.application, ...sets);
    const change = (own: CpuSet, taken: CpuSet) => resize(own, taken, nic.node, request);
    const tx = change(nic.tx, others(nic.rx, isIrqFromThreads ? [] : nic.irq));
    const rx = change(nic.rx, others(tx, isIrqFromThreads ? [] : nic.irq));
    const irq = isIrqFromThreads ? unionOf(tx, rx) : change(nic.irq, others(tx, rx));
    return { ...nic, tx, rx, irq };
  });
  return { ...allocation, nics };
}

/** Adds the next free physical cores of the node, or drops the last ones; never below one core. */
function resize(
  own: CpuSet,
  taken: CpuSet,
  node: number | undefined,
  request: AllocationRequest,
): CpuSet {
  const map = request.cores;
  const ownCores = physicalCores(own, map);
  const hasSiblings = own.length > ownCores.length;
  const grow = (cores: CpuSet) => (hasSiblings ? withSiblings(cores, map) : cores);
  if (ownCores.length === 0) return own;
  if (request.adjustCores < 0) {
    const kept = ownCores.slice(0, Math.max(1, ownCores.length + request.adjustCores));
    return intersectionOf(own, withSiblings(kept, map));
  }
  const busy = physicalCores(unionOf(own, taken), map);
  const free = differenceOf(physicalCores(map.nodeCpus(node), map), busy);
  const last = ownCores.at(-1) ?? 0;
  const nearest = [...free].sort((a, b) => distance(a, last) - distance(b, last));
  return unionOf(own, grow(cpuSet(nearest.slice(0, request.adjustCores))));
}

// Cores above the range come first: a range grows upward before it wraps to lower cores.
function distance(core: number, last: number): number {
  return core > last ? core - last : 100_000 + last - core;
}
