// What is doubtful about one line of a plan: each warning has a code, so that a reader can count
// them, and a text that names the CPUs. Pure.

import { formatCpuList } from '../../base/cpu-set.js';
import type { NicAllocation } from './allocation.js';
import { type CoreMap, withSiblings } from './core-map.js';
import { type CpuSet, differenceOf, intersectionOf } from './cpu-choice.js';
import { busierThanNow, type PlanLoad } from './load-placement.js';

export const WARNING_CODES = {
  overlap: 'interrupts share CPUs with send or receive threads',
  sibling: 'the other hyperthread of the core does other planned work',
  remote: 'CPUs on another NUMA node than the NIC',
  application: 'CPUs that the application owns',
  shared: 'CPUs that also serve queues of another NIC',
  offline: 'CPUs that are offline now',
  empty: 'no CPU is left',
  busier: 'the busiest CPU would take more interrupts than it does now',
} as const;
export type WarningCode = keyof typeof WARNING_CODES;

export interface PlanWarning {
  readonly code: WarningCode;
  readonly text: string;
  /** The CPUs that the text names, and what it says of them: lines that differ in CPUs fold. */
  readonly cpus?: CpuSet;
  readonly what?: string;
}

export interface WarningContext {
  readonly cores: CoreMap;
  readonly application: CpuSet;
  readonly allocations: readonly NicAllocation[];
  /** CPUs of queue vectors, by NIC. */
  readonly irqCpusByNic: ReadonlyMap<string, CpuSet>;
}

export function warningsFor(
  line: { readonly nic: string; readonly node: number | undefined; readonly cpus: CpuSet },
  context: WarningContext,
): readonly PlanWarning[] {
  if (line.cpus.length === 0) return [{ code: 'empty', text: 'no CPU is left for this vector' }];
  const found: PlanWarning[] = [];
  const add = (code: WarningCode, cpus: CpuSet, what: string) => {
    if (cpus.length > 0) found.push({ code, text: `${formatCpuList(cpus)} ${what}`, cpus, what });
  };
  const { cores, application } = context;
  add('offline', differenceOf(line.cpus, cores.online), 'offline');
  add('remote', remoteCpus(line.cpus, line.node, cores), `not on node ${line.node ?? '?'}`);
  add('application', intersectionOf(line.cpus, application), 'owned by the application');
  for (const [owner, cpus] of threadSets(context.allocations)) {
    add('overlap', intersectionOf(line.cpus, cpus), `shared with ${owner}`);
  }
  found.push(...siblingWarnings(line.cpus, context));
  for (const [nic, cpus] of context.irqCpusByNic) {
    if (nic !== line.nic) add('shared', intersectionOf(line.cpus, cpus), `also serve ${nic}`);
  }
  return found;
}

/** What is doubtful about the plan as a whole. */
export function loadWarnings(load: PlanLoad | undefined): readonly PlanWarning[] {
  const risen = load && busierThanNow(load);
  if (risen === undefined) return [];
  const { whose, now, planned } = risen;
  const percent = ((planned / Math.max(1, now) - 1) * 100).toFixed(0);
  const text =
    `${planned} interrupts ${whose} on the busiest CPU instead of ${now} (+${percent} %): more ` +
    'CPUs (--widen, another policy) or the present placement serve better';
  return [{ code: 'busier', text }];
}

function remoteCpus(cpus: CpuSet, node: number | undefined, cores: CoreMap): CpuSet {
  if (node === undefined) return [];
  return cpus.filter((cpu) => {
    const own = cores.nodeOf(cpu);
    return own !== undefined && own !== node;
  });
}

/** Thread sets with their owners; NICs that name the same set are named together. */
function threadSets(allocations: readonly NicAllocation[]): readonly (readonly [string, CpuSet])[] {
  const sets = new Map<string, { owners: string[]; cpus: CpuSet }>();
  for (const allocation of allocations) {
    const uses = [
      ['TX', allocation.tx],
      ['RX', allocation.rx],
    ] as const;
    for (const [use, cpus] of uses) {
      if (cpus.length === 0) continue;
      const key = `${use} ${formatCpuList(cpus)}`;
      const entry = sets.get(key) ?? { owners: [], cpus };
      entry.owners.push(allocation.nic);
      sets.set(key, entry);
    }
  }
  return [...sets].map(([key, { owners, cpus }]) => [
    `${key.slice(0, 2)} threads of ${owners.join(', ')}`,
    cpus,
  ]);
}

// The line's own CPUs do not count: a range with both hyperthreads of a core is one job.
function siblingWarnings(cpus: CpuSet, context: WarningContext): PlanWarning[] {
  const others = differenceOf(withSiblings(cpus, context.cores), cpus);
  const found: PlanWarning[] = [];
  const check = (set: CpuSet, owner: string) => {
    const clash = intersectionOf(others, set);
    if (clash.length > 0) {
      const text = `sibling ${formatCpuList(clash)} belongs to ${owner}`;
      found.push({ code: 'sibling', text, cpus: clash, what: `belong to ${owner}` });
    }
  };
  check(context.application, 'the application');
  for (const [owner, set] of threadSets(context.allocations)) check(set, owner);
  for (const [nic, set] of context.irqCpusByNic) check(set, `interrupts of ${nic}`);
  return found;
}
