// A row of the performance table: what, bar, measured, verdict. Pure.

import { ratiosInTurn } from '../../src/bench/compare/paired-ratio.js';
import { medianOf } from '../../src/bench/statistics.js';

export interface PerfRow {
  readonly what: string;
  readonly bar: string;
  readonly measured: string;
  readonly detail: string;
  /**
   * Undefined: it could not be measured here, and the detail says why; or nothing is asked of it.
   */
  readonly isMet: boolean | undefined;
}

export interface PerfGroup {
  readonly name: string;
  run(rounds: number): Promise<PerfRow[]>;
}

export interface Unit {
  readonly name: string;
  readonly scale: number;
}

export const GBPS: Unit = { name: 'GB/s', scale: 1e9 };
export const CPU_PER_GB: Unit = { name: 's/GB', scale: 1 };
export const MICROSECONDS: Unit = { name: 'µs', scale: 1 };

type Relation = '≥' | '≤';

type ComparisonInTurn = (
  what: string,
  ours: readonly number[],
  others: readonly (readonly number[])[],
  bar: number,
  unit: Unit,
) => PerfRow;

/** A row that this machine cannot show. */
export function notMeasured(what: string, reason: string): PerfRow {
  return { what, bar: '', measured: '', detail: reason, isMet: undefined };
}

/** Median ours at most `bar`, in the unit itself. */
export function atMostAlone(
  what: string,
  ours: readonly number[],
  bar: number,
  unit: Unit,
): PerfRow {
  const median = medianOf(ours) / unit.scale;
  return {
    what,
    bar: `≤ ${bar} ${unit.name}`,
    measured: `${median.toFixed(2)} ${unit.name}`,
    detail: spread(ours, unit),
    isMet: median <= bar,
  };
}

/** So many in a second, median, at least. */
export function atLeastAlone(what: string, rates: readonly number[], bar: number): PerfRow {
  const text = (rate: number): string => Math.round(rate).toLocaleString('en-US');
  const median = medianOf(rates);
  return {
    what,
    bar: `≥ ${text(bar)}`,
    measured: text(median),
    detail: `${text(Math.min(...rates))} … ${text(Math.max(...rates))}`,
    isMet: median >= bar,
  };
}

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

export const NO_BAR = 'none';

/** What ours is of theirs, where no bar is set. */
export function shareOf(what: string, ours: readonly number[], theirs: readonly number[]): PerfRow {
  const ratio = medianOf(ours) / medianOf(theirs);
  const detail = `${spread(ours, GBPS)} of ${spread(theirs, GBPS)}`;
  return { what, bar: NO_BAR, measured: `${ratio.toFixed(2)} ×`, detail, isMet: undefined };
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
