// What the lines of a host did since boot, as a measure of a plan for which no run was observed. A
// line's whole count stands where the line is now: where it was before a move says nothing about
// the present placement. Pure.

import type { Irq } from '../read/model.js';
import { type ObservedLoad, SINCE_BOOT } from './load-placement.js';

/** Less than seconds of traffic: such counts tell chance, not load. */
const BUSIEST_MIN = 100_000;

/** undefined where no count could be read, or where the counts are too few to tell anything. */
export function loadSinceBoot(irqs: readonly Irq[]): ObservedLoad | undefined {
  const interrupts = new Map<number, ReadonlyMap<number, number>>();
  const byCpu = new Map<number, number>();
  for (const irq of irqs) {
    const counts = countsNow(irq);
    if (counts === undefined) continue;
    interrupts.set(irq.irq, counts);
    for (const [cpu, count] of counts) byCpu.set(cpu, (byCpu.get(cpu) ?? 0) + count);
  }
  const busiest = Math.max(0, ...byCpu.values());
  if (busiest < BUSIEST_MIN) return undefined;
  return { source: SINCE_BOOT, seconds: undefined, interrupts };
}

/** At the CPU that the line has now; as they were counted where more than one may be it. */
function countsNow({ countByCpu, effective, requested }: Irq): Map<number, number> | undefined {
  if (countByCpu === undefined) return undefined;
  const counts = new Map(
    Object.entries(countByCpu).map(([cpu, count]) => [Number(cpu), count] as const),
  );
  const now = effective ?? requested;
  const [cpu] = now ?? [];
  if (cpu === undefined || now?.length !== 1) return counts;
  return new Map([[cpu, [...counts.values()].reduce((sum, count) => sum + count, 0)]]);
}
