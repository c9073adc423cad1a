// Two tables of interrupts around a run, also where CPUs came or went in between: a CPU's column is
// there only while it is online, and its count goes on where it stood. Pure.

import { parseInterrupts } from '../../host/read/interrupts.js';

export interface InterruptPair {
  /** Growth by line and CPU, of CPUs that are in both tables. */
  readonly grown: ReadonlyMap<number, ReadonlyMap<number, number>>;
  /** Lines whose count fell: what they did is not known. */
  readonly resetIrqs: readonly number[];
  /** Lines of which only one table tells. */
  readonly newIrqs: readonly number[];
  readonly goneIrqs: readonly number[];
  readonly cpusAppeared: readonly number[];
  readonly cpusGone: readonly number[];
}

export function pairInterrupts(before: string, after: string): InterruptPair {
  const early = parseInterrupts(before);
  const late = parseInterrupts(after);
  const common = late.cpus.filter((cpu) => early.cpus.includes(cpu));
  const known = new Map(early.rows.map((row) => [row.irq, row]));
  const grown = new Map<number, ReadonlyMap<number, number>>();
  const resetIrqs: number[] = [];
  const newIrqs: number[] = [];
  for (const { irq, countByCpu } of late.rows) {
    if (irq === undefined) continue;
    const old = known.get(irq);
    known.delete(irq);
    if (old === undefined) {
      newIrqs.push(irq);
      continue;
    }
    const growth = new Map<number, number>();
    let hasFallen = false;
    for (const cpu of common) {
      const change = (countByCpu[cpu] ?? 0) - (old.countByCpu[cpu] ?? 0);
      if (change < 0) hasFallen = true;
      if (change > 0) growth.set(cpu, change);
    }
    if (hasFallen) resetIrqs.push(irq);
    else grown.set(irq, growth);
  }
  return {
    grown,
    resetIrqs,
    newIrqs,
    goneIrqs: [...known.keys()].filter((irq) => irq !== undefined),
    cpusAppeared: late.cpus.filter((cpu) => !early.cpus.includes(cpu)),
    cpusGone: early.cpus.filter((cpu) => !late.cpus.includes(cpu)),
  };
}
