// How many rounds are wanted, from the spread that was measured; and the order within each. Pure.

import { at } from '../base/assert.js';
import { seededRandom } from '../base/random.js';
import { fitRounds, ROUNDS_MIN, type Rounds, shareOfAlpha } from './round-fit.js';
import { studentQuantile } from './student.js';

export interface RepetitionWish {
  readonly roundsMin: number;
  readonly roundsMax: number;
  /** The smallest gain that is worth finding, as a fraction. */
  readonly effect: number;
  /** How often all comparisons together may find what is not there. */
  readonly alpha: number;
}

/** How often an effect of just that size is to be found. */
const POWER = 0.9;
/** Beyond this nobody would wait. */
const ROUNDS_SOUGHT_MAX = 10_000;

/** With such a spread, whatever the cap says. */
export function roundsFor(spread: number, arms: number, wish: RepetitionWish): number {
  const wanted = Math.log1p(wish.effect);
  const tail = 1 - shareOfAlpha(wish.alpha, arms) / 2;
  for (let rounds = wish.roundsMin; rounds < ROUNDS_SOUGHT_MAX; rounds++) {
    const freedom = (rounds - 1) * (arms - 1);
    const reach = studentQuantile(tail, freedom) + studentQuantile(POWER, freedom);
    if (reach * spread * Math.sqrt(2 / rounds) <= wanted) return rounds;
  }
  return ROUNDS_SOUGHT_MAX;
}

export interface RoundsWanted {
  readonly rounds: number;
  /** More would be needed than the cap allows. */
  readonly isCapped: boolean;
}

/** Asked after each round; before there is a spread, as many as it takes to have one. */
export function roundsWanted(done: Rounds, arms: number, wish: RepetitionWish): RoundsWanted {
  const least = Math.max(ROUNDS_MIN, wish.roundsMin);
  if (done.length < least || arms < 2) return { rounds: least, isCapped: false };
  const needed = roundsFor(fitRounds(done).spread, arms, { ...wish, roundsMin: least });
  return { rounds: Math.min(needed, wish.roundsMax), isCapped: needed > wish.roundsMax };
}

/** Every arm once, in an order that the seed and the round give: the same when it is resumed. */
export function orderOfRound<T>(arms: readonly T[], seed: number, round: number): readonly T[] {
  const random = seededRandom(seed + round * ROUND_STRIDE);
  const order = [...arms];
  for (let last = order.length - 1; last > 0; last--) {
    const other = random.nextBetween(0, last);
    const moved = at(order, last);
    order[last] = at(order, other);
    order[other] = moved;
  }
  return order;
}

/** Seeds of neighbours are not alike, and rounds of one do not meet those of the next. */
const ROUND_STRIDE = 1_000_003;
