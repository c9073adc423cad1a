// A row of the performance table: what, bar, measured, verdict. Pure.

import { medianOf } from '../../src/results/statistics.js';

export interface PerfRow {
  readonly what: string;
  readonly bar: string;
  readonly measured: string;
  readonly detail: string;
  readonly isMet: boolean;
}

/** Median ours ÷ median theirs, at least `bar`. */
export function atLeast(
  what: string,
  ours: readonly number[],
  theirs: readonly number[],
  bar: number,
  unit: { readonly name: string; readonly scale: number },
): PerfRow {
  return compare(what, ours, theirs, bar, unit, '≥');
}

/** Median ours ÷ median theirs, at most `bar`. */
export function atMost(
  what: string,
  ours: readonly number[],
  theirs: readonly number[],
  bar: number,
  unit: { readonly name: string; readonly scale: number },
): PerfRow {
  return compare(what, ours, theirs, bar, unit, '≤');
}

function compare(
  what: string,
  ours: readonly number[],
  theirs: readonly number[],
  bar: number,
  unit: { readonly name: string; readonly scale: number },
  relation: '≥' | '≤',
): PerfRow {
  const ratio = medianOf(ours) / medianOf(theirs);
  return {
    what,
    bar: `${relation} ${bar.toFixed(2)} ×`,
    measured: `${ratio.toFixed(2)} ×`,
    detail: `${spread(ours, unit)} against ${spread(theirs, unit)}`,
    isMet: relation === '≥' ? ratio >= bar : ratio <= bar,
  };
}

function spread(
  samples: readonly number[],
  unit: { readonly name: string; readonly scale: number },
) {
  const shown = samples.map((sample) => sample / unit.scale);
  const median = medianOf(shown);
  const range = `${Math.min(...shown).toFixed(2)} … ${Math.max(...shown).toFixed(2)}`;
  return `${median.toFixed(2)} ${unit.name} (${range})`;
}
