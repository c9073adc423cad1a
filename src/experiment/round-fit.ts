// Rounds of runs, every arm once in each: effects of arms and what is left as noise. Rounds are
// taken out, since a machine has phases. Rates are compared as logarithms: a difference is then
// a ratio, and noise that grows with the rate is the same everywhere. Pure.

import { assert, at } from '../base/assert.js';
import { studentQuantile } from './student.js';

/** Rates in GB/s: a row for each round, in it one for each arm; the first arm is compared with. */
export type Rounds = readonly (readonly number[])[];

export interface RoundFit {
  readonly rounds: number;
  readonly arms: number;
  /** Means of the logarithms. */
  readonly levels: readonly number[];
  /** Of one run, as a fraction of its rate. */
  readonly spread: number;
  /** Degrees of freedom of the spread. */
  readonly freedom: number;
}

/** Fewer rounds tell no spread. */
export const ROUNDS_MIN = 3;

/**
 * The spread is the larger of that of the first rounds and that of all: the number of rounds was
 * chosen by it, and a series that ends when its spread looks small would look surer than it is.
 */
export function fitRounds(rounds: Rounds): RoundFit {
  const first = residualSpread(rounds.slice(0, ROUNDS_MIN));
  const arms = at(rounds, 0).length;
  return {
    rounds: rounds.length,
    arms,
    levels: armMeans(logarithms(rounds)),
    spread: Math.max(first, residualSpread(rounds)),
    freedom: (rounds.length - 1) * (arms - 1),
  };
}

function logarithms(rounds: Rounds): Rounds {
  return rounds.map((round) => round.map(Math.log));
}

function armMeans(rows: Rounds): readonly number[] {
  const [first = []] = rows;
  return first.map((_, arm) => meanOf(rows.map((row) => at(row, arm))));
}

function residualSpread(rounds: Rounds): number {
  assert(rounds.length >= 2 && at(rounds, 0).length >= 2, 'a spread has two rounds and two arms');
  const rows = logarithms(rounds);
  const levels = armMeans(rows);
  const all = meanOf(levels);
  let squares = 0;
  for (const row of rows) {
    assert(row.length === levels.length, 'every arm is in every round');
    const level = meanOf(row);
    for (const [arm, value] of row.entries()) {
      squares += (value - level - at(levels, arm) + all) ** 2;
    }
  }
  return Math.sqrt(squares / ((rows.length - 1) * (levels.length - 1)));
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** A ratio less one, with its interval. */
export interface Change {
  readonly change: number;
  readonly low: number;
  readonly high: number;
}

/** Weights of arms, which sum up to nothing: 1 and −1 for a difference of two. */
export function contrastOf(fit: RoundFit, weights: readonly number[], alpha: number): Change {
  assert(weights.length === fit.arms, 'a contrast has a weight for each arm');
  const middle = weights.reduce((sum, weight, arm) => sum + weight * at(fit.levels, arm), 0);
  const squares = weights.reduce((sum, weight) => sum + weight * weight, 0);
  const error = fit.spread * Math.sqrt(squares / fit.rounds);
  const reach = studentQuantile(1 - alpha / 2, fit.freedom) * error;
  return {
    change: Math.expm1(middle),
    low: Math.expm1(middle - reach),
    high: Math.expm1(middle + reach),
  };
}

/** An arm against the first. */
export function changeOf(fit: RoundFit, arm: number, alpha: number): Change {
  const weights = fit.levels.map((_, index) => (index === arm ? 1 : index === 0 ? -1 : 0));
  return contrastOf(fit, weights, alpha);
}

/** One of several comparisons: so that all of them together are wrong with alpha at most. */
export function shareOfAlpha(alpha: number, arms: number): number {
  return alpha / Math.max(1, arms - 1);
}
