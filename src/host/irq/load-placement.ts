// Interrupts placed by the load that a run really had: the busiest line first, each onto the least
// loaded CPU of those it may use. What stays where it is counts as load too. Pure.

import type { CoreMap } from './core-map.js';
import { type CpuSet, cpuSet } from './cpu-choice.js';

/** The source of counts that are not those of a run. */
export const SINCE_BOOT = 'since boot';

/** Interrupts counted during a run, by IRQ and CPU, and how long it took where that is known. */
export interface ObservedLoad {
  /** The bundle of the run, or SINCE_BOOT. */
  readonly source: string;
  readonly seconds: number | undefined;
  readonly interrupts: ReadonlyMap<number, ReadonlyMap<number, number>>;
}

export interface LoadJob {
  readonly irq: number;
  /** In order of preference among equally loaded ones. */
  readonly allowed: CpuSet;
}

/** How interrupts spread over CPUs: as they were counted, and by the plan. */
export interface PlanLoad {
  readonly source: string;
  readonly seconds: number | undefined;
  readonly cpus: readonly CpuLoad[];
  /** The most that one CPU takes of the planned lines. */
  readonly busiestNow: number;
  readonly busiestPlanned: number;
  /** The same CPUs with the lines that stay, of other devices. */
  readonly busiestTotalNow: number;
  readonly busiestTotalPlanned: number;
  /** Planned lines of which no count is known: they count as idle. */
  readonly unknownIrqs: readonly number[];
}

export interface CpuLoad {
  readonly cpu: number;
  /** Interrupts of the planned lines. */
  readonly now: number;
  readonly planned: number;
  /** Interrupts of lines that the plan does not move. */
  readonly staying: number;
}

/** The load where it is that of a run; counts since boot are never shown as such. */
export function runLoad(load: PlanLoad): PlanLoad | undefined {
  return load.source === SINCE_BOOT ? undefined : load;
}

export interface RisenLoad {
  readonly whose: string;
  readonly now: number;
  readonly planned: number;
}

/** The busiest CPU's interrupts where a plan raises them: of its own lines, or of all. */
export function busierThanNow(load: PlanLoad): RisenLoad | undefined {
  const measures = [
    { whose: 'of these NICs', now: load.busiestNow, planned: load.busiestPlanned },
    { whose: 'of all devices', now: load.busiestTotalNow, planned: load.busiestTotalPlanned },
  ];
  return measures.find(({ now, planned }) => planned > now);
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
  const staying = fixedLoad(new Set(irqs), observed);
  const all = fixedLoad(new Set(), observed);
  const planned = new Map<number, number>();
  for (const [irq, cpu] of placed) {
    planned.set(cpu, (planned.get(cpu) ?? 0) + totalOf(observed, irq));
  }
  const cpus = [...new Set([...all.keys(), ...planned.keys()])]
    .sort((a, b) => a - b)
    .map((cpu) => ({
      cpu,
      now: (all.get(cpu) ?? 0) - (staying.get(cpu) ?? 0),
      planned: planned.get(cpu) ?? 0,
      staying: staying.get(cpu) ?? 0,
    }));
  const most = (load: (cpu: CpuLoad) => number) => Math.max(0, ...cpus.map(load));
  // A CPU that serves none of these lines may be as busy as it likes.
  const mostWith = (own: (cpu: CpuLoad) => number) =>
    most((load) => (own(load) === 0 ? 0 : own(load) + load.staying));
  return {
    source: observed.source,
    seconds: observed.seconds,
    cpus: cpus.filter((load) => load.now > 0 || load.planned > 0),
    busiestNow: most((load) => load.now),
    busiestPlanned: most((load) => load.planned),
    busiestTotalNow: mostWith((load) => load.now),
    busiestTotalPlanned: mostWith((load) => load.planned),
    unknownIrqs: irqs.filter((irq) => !observed.interrupts.has(irq)),
  };
}

/** CPUs that other devices load more than a line of these does on average: no place for them. */
export function busyCpus(observed: ObservedLoad, irqs: readonly number[]): CpuSet {
  const total = irqs.reduce((sum, irq) => sum + totalOf(observed, irq), 0);
  const average = total / Math.max(1, irqs.length);
  const staying = fixedLoad(new Set(irqs), observed);
  return cpuSet([...staying].flatMap(([cpu, count]) => (count > average ? [cpu] : [])));
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
