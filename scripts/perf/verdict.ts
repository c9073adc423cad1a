// A row of the performance table: what, bar, measured, verdict. Pure.

import { ratiosInTurn } from '../../src/bench/compare/paired-ratio.js';
import { medianOf } from '../../src/bench/statistics.js';

export interface PerfRow {
  readonly what: string;
  readonly bar: string;
  readonly measured: string;
  readonly detail: string;
  readonly isMet: boolean;
}

interface Unit {
  readonly name: string;
  readonly scale: number;
}

type Relation = '≥' | '≤';

type ComparisonInTurn = (
  what: string,
  ours: readonly number[],
  others: readonly (readonly number[])[],
  bar: number,
  unit: Unit,
) => PerfRow;

/** Median ours ÷ median theirs, at least `bar`. */
export function atLeast(
  what: string,
  ours: readonly number[],
  theirs: readonly number[],
  bar: number,
  unit: Unit,
): PerfRow {
  const detail = `${spread(ours, unit)} against ${spread(theirs, unit)}`;
  return judge(what, medianOf(ours) / medianOf(theirs), '≥', bar, detail);
}

/**
 * Of figures that were taken right after each other: the median of their ratios, set by set,
 * because what slows a set slows both. Against several others the worst counts.
 */
export const atLeastInTurn = comparisonInTurn('≥');
export const atMostInTurn = comparisonInTurn('≤');

function comparisonInTurn(relation: Relation): ComparisonInTurn {
  return (what, ours, others, bar, unit) => {
    const ratios = others.map((theirs) => ratiosInTurn(ours, theirs));
    const worst = ratios.reduce((a, b) =>
      medianOf(a) <= medianOf(b) === (relation === '≥') ? a : b,
    );
    const theirs = others[ratios.indexOf(worst)] ?? [];
    const range = `sets ${Math.min(...worst).toFixed(2)} … ${Math.max(...worst).toFixed(2)}`;
    const detail = `${range}; ${spread(ours, unit)} against ${spread(theirs, unit)}`;
    return judge(what, medianOf(worst), relation, bar, detail);
  };
}

function judge(
  what: string,
  ratio: number,
  relation: Relation,
  bar: number,
  detail: string,
): PerfRow {
  return {
    what,
    bar: `${relation} ${bar.toFixed(2)} ×`,
    measured: `${ratio.toFixed(2)} ×`,
    detail,
    isMet: relation === '≥' ? ratio >= bar : ratio <= bar,
  };
}

function spread(samples: readonly number[], unit: Unit): string {
  const shown = samples.map((sample) => sample / unit.scale);
  const median = medianOf(shown);
  const range = `${Math.min(...shown).toFixed(2)} … ${Math.max(...shown).toFixed(2)}`;
  return `${median.toFixed(2)} ${unit.name} (${range})`;
}
