// The ratio of two figures that were taken in turn: pair by pair, because what slows one slows the
// other. Its interval comes from the order of the ratios alone and assumes nothing of their
// distribution: between the k-th smallest and the k-th largest of n lies the true median, but for
// the chance that fewer than k of n coin tosses fall on one side. Pure.

import { assert, at } from '../../base/assert.js';
import { medianOf } from '../statistics.js';

export interface PairedRatio {
  readonly median: number;
  readonly low: number;
  readonly high: number;
  /** That the median lies between them; below 0.95 with fewer than six pairs. */
  readonly confidence: number;
  readonly pairs: number;
}

const CONFIDENCE = 0.95;

/** Of each turn: ours over theirs. */
export function ratiosInTurn(ours: readonly number[], theirs: readonly number[]): number[] {
  assert(ours.length === theirs.length, 'what is compared was measured as often');
  return ours.map((figure, turn) => figure / at(theirs, turn));
}

export function pairedRatio(ours: readonly number[], theirs: readonly number[]): PairedRatio {
  const ratios = ratiosInTurn(ours, theirs).sort((a, b) => a - b);
  assert(ratios.length > 0, 'a ratio has pairs');
  const dropped = droppedAtEachEnd(ratios.length);
  return {
    median: medianOf(ratios),
    low: at(ratios, dropped),
    high: at(ratios, ratios.length - 1 - dropped),
    confidence: 1 - 2 * lowerTail(ratios.length, dropped),
    pairs: ratios.length,
  };
}

/** The most that can be left out at each end while the confidence holds; none of a few. */
function droppedAtEachEnd(count: number): number {
  let dropped = 0;
  while (1 - 2 * lowerTail(count, dropped + 1) >= CONFIDENCE) dropped++;
  return dropped;
}

/** That at most `most` of `count` tosses show heads. */
function lowerTail(count: number, most: number): number {
  let term = 0.5 ** count;
  let sum = term;
  for (let heads = 1; heads <= most; heads++) {
    term *= (count - heads + 1) / heads;
    sum += term;
  }
  return sum;
}
