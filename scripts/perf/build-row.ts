// One row of the comparison of two builds, and when the newer one counts as worse. Pure.

import { medianOf, percentile } from '../../src/bench/statistics.js';

export interface BuildRow {
  readonly name: string;
  readonly flags: readonly string[];
  readonly unit: string;
  readonly isMoreBetter: boolean;
}

export interface BuildVerdict {
  readonly older: number;
  readonly newer: number;
  /** Newer ÷ older. */
  readonly ratio: number;
  /** Half of what lies between the quartiles, over the median: of the build that scatters more. */
  readonly spread: number;
  readonly isWorse: boolean;
}

/** What a change may cost beyond the spread before it counts. */
const TOLERANCE = 0.03;

export function compareBuilds(
  row: Pick<BuildRow, 'isMoreBetter'>,
  older: readonly number[],
  newer: readonly number[],
): BuildVerdict {
  const ratio = medianOf(newer) / medianOf(older);
  const spread = Math.max(relativeSpread(older), relativeSpread(newer));
  const loss = row.isMoreBetter ? 1 - ratio : ratio - 1;
  const isWorse = loss > TOLERANCE + spread;
  return { older: medianOf(older), newer: medianOf(newer), ratio, spread, isWorse };
}

export function describeBuilds(row: BuildRow, verdict: BuildVerdict): string[] {
  return [
    row.name,
    `${verdict.older.toFixed(2)} ${row.unit}`,
    `${verdict.newer.toFixed(2)} ${row.unit}`,
    verdict.ratio.toFixed(3),
    `± ${(verdict.spread * 100).toFixed(1)} %`,
    verdict.isWorse ? 'WORSE' : 'not worse',
  ];
}

function relativeSpread(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const between = percentile(sorted, 0.75) - percentile(sorted, 0.25);
  return between / 2 / medianOf(samples);
}
