// When did interrupts of a plan's lines arrive outside the plan? From samples that were taken while
// a run went on: two ends alone tell that it happened, the samples tell in which interval. Pure.

import type { FlatPart } from '../flat/flat-parts.js';
import { seriesFiles } from '../flat/flat-parts.js';
import { type Sample, splitInterruptSeries } from '../flat/sample-series.js';
import { parseInterrupts } from '../read/interrupts.js';
import type { PlanLine } from './plan.js';

export interface StrayInterval {
  readonly irq: number;
  readonly nic: string;
  readonly queue: string;
  /** Samples between which it happened, counted from 0, with their times where they have them. */
  readonly fromSample: number;
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly offPlan: number;
  readonly cpus: readonly number[];
}

export interface SeriesVerdict {
  readonly sampleCount: number;
  /** The first interval of each line that strayed. */
  readonly strays: readonly StrayInterval[];
}

export function interruptSamples(parts: readonly FlatPart[]): readonly Sample[] {
  return seriesFiles(parts, 'interrupts').flatMap(({ text }) => splitInterruptSeries(text));
}

export function verifySeries(
  lines: readonly PlanLine[],
  samples: readonly Sample[],
): SeriesVerdict {
  const strays = new Map<number, StrayInterval>();
  let earlier: Counts | undefined;
  for (const [index, sample] of samples.entries()) {
    const counts = countsOf(sample.text);
    for (const line of earlier === undefined ? [] : lines) {
      if (strays.has(line.irq)) continue;
      const off = offPlan(line, earlier?.get(line.irq), counts.get(line.irq));
      if (off.size === 0) continue;
      strays.set(line.irq, {
        irq: line.irq,
        nic: line.nic,
        queue: line.queue,
        fromSample: index - 1,
        fromMs: samples[index - 1]?.timeMs,
        toMs: sample.timeMs,
        offPlan: [...off.values()].reduce((sum, count) => sum + count, 0),
        cpus: [...off.keys()],
      });
    }
    earlier = counts;
  }
  return { sampleCount: samples.length, strays: [...strays.values()] };
}

type Counts = ReadonlyMap<number, Readonly<Record<number, number>>>;

function countsOf(table: string): Counts {
  const counts = new Map<number, Readonly<Record<number, number>>>();
  for (const row of parseInterrupts(table).rows) {
    if (row.irq !== undefined) counts.set(row.irq, row.countByCpu);
  }
  return counts;
}

/** Interrupts by CPU that came outside the plan; a counter that fell tells nothing. */
function offPlan(
  line: PlanLine,
  before: Readonly<Record<number, number>> | undefined,
  after: Readonly<Record<number, number>> | undefined,
): ReadonlyMap<number, number> {
  const off = new Map<number, number>();
  if (before === undefined || after === undefined) return off;
  for (const [cpu, count] of Object.entries(after)) {
    const grown = count - (before[Number(cpu)] ?? 0);
    if (grown > 0 && !line.cpus.includes(Number(cpu))) off.set(Number(cpu), grown);
  }
  return off;
}
