// Interrupts placed by the load that a run really had: the busiest line first, each onto the least
// loaded CPU of those it may use. What stays where it is counts as load too. Pure.

import type { CoreMap } from './core-map.js';
import type { CpuSet } from './cpu-choice.js';

/** Interrupts counted during a run, by IRQ and CPU, and how long it took where that is known. */
export interface ObservedLoad {
  readonly source: string;
  readonly seconds: number | undefined;
  readonly interrupts: ReadonlyMap<number, ReadonlyMap<number, number>>;
}

export interface LoadJob {
  readonly irq: number;
  /** In order of preference among equally loaded ones. */
  readonly allowed: CpuSet;
}

/** How the interrupts of all numbered lines spread over CPUs: in the run, and by the plan. */
export interface PlanLoad {
  readonly source: string;
  readonly seconds: number | undefined;
  readonly cpus: readonly CpuLoad[];
  readonly busiestNow: number;
  readonly busiestPlanned: number;
  /** Planned lines that the run says nothing about: they count as idle. */
  readonly unknownIrqs: readonly number[];
}

export interface CpuLoad {
  readonly cpu: number;
  readonly now: number;
  readonly planned: number;
}

/** CPU of each line; a line without any allowed CPU gets none. */
export function placeByLoad(
  jobs: readonly LoadJob[],
  observed: ObservedLoad,
  cores: CoreMap,
): ReadonlyMap<number, number> {
  const loads = fixedLoad(new Set(jobs.map(({ irq }) => irq)), observed);
  const loadOf = (cpu: number) => loads.get(cpu) ?? 0;
  const coreLoad = (cpu: number) =>
    cores.siblingsOf(cpu).reduce((sum, sibling) => sum + loadOf(sibling), 0);
  const placed = new Map<number, number>();
  const longestFirst = [...jobs].sort(
    (a, b) => totalOf(observed, b.irq) - totalOf(observed, a.irq) || a.irq - b.irq,
  );
  for (const { irq, allowed } of longestFirst) {
    const [cpu] = [...allowed].sort((a, b) => loadOf(a) - loadOf(b) || coreLoad(a) - coreLoad(b));
    if (cpu === undefined) continue;
    placed.set(irq, cpu);
    // An idle line weighs a little, so that many of them do not pile up on one CPU.
    loads.set(cpu, loadOf(cpu) + Math.max(totalOf(observed, irq), IDLE_WEIGHT));
  }
  return placed;
}

const IDLE_WEIGHT = 1e-6;

export function totalOf({ interrupts }: ObservedLoad, irq: number): number {
  return [...(interrupts.get(irq)?.values() ?? [])].reduce((sum, count) => sum + count, 0);
}

export function loadReport(
  placed: ReadonlyMap<number, number>,
  irqs: readonly number[],
  observed: ObservedLoad,
): PlanLoad {
  const now = fixedLoad(new Set(), observed);
  const planned = fixedLoad(new Set(irqs), observed);
  for (const [irq, cpu] of placed) {
    planned.set(cpu, (planned.get(cpu) ?? 0) + totalOf(observed, irq));
  }
  const cpus = [...new Set([...now.keys(), ...planned.keys()])]
    .sort((a, b) => a - b)
    .map((cpu) => ({ cpu, now: now.get(cpu) ?? 0, planned: planned.get(cpu) ?? 0 }))
    .filter((load) => load.now > 0 || load.planned > 0);
  return {
    source: observed.source,
    seconds: observed.seconds,
    cpus,
    busiestNow: Math.max(0, ...cpus.map((load) => load.now)),
    busiestPlanned: Math.max(0, ...cpus.map((load) => load.planned)),
    unknownIrqs: irqs.filter((irq) => !observed.interrupts.has(irq)),
  };
}

/** Load of the lines that stay, by CPU. */
function fixedLoad(moving: ReadonlySet<number>, { interrupts }: ObservedLoad): Map<number, number> {
  const loads = new Map<number, number>();
  for (const [irq, byCpu] of interrupts) {
    if (moving.has(irq)) continue;
    for (const [cpu, count] of byCpu) loads.set(cpu, (loads.get(cpu) ?? 0) + count);
  }
  return loads;
}
