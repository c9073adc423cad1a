// What the rounds say of each arm, and which of the three outcomes that is. Pure.

import { at } from '../base/assert.js';
import type { RepetitionWish } from './repetitions.js';
import {
  type Change,
  changeOf,
  contrastOf,
  fitRounds,
  ROUNDS_MIN,
  type RoundFit,
  type Rounds,
  shareOfAlpha,
} from './round-fit.js';

export type ArmVerdict = 'faster' | 'slower' | 'same' | 'undecided';

export interface ArmChange extends Change {
  readonly arm: string;
  readonly verdict: ArmVerdict;
}

/** A gain, no effect worth having, a part of one; or too much noise to tell. */
export type Outcome = 'A' | 'B' | 'C' | 'undecided';

export interface Decision {
  readonly outcome: Outcome;
  readonly best: string | undefined;
  readonly reason: string;
  readonly consequence: string;
}

/** As it is printed beside each decision. */
export const DECISION_RULE =
  'Intervals hold for all arms together (Bonferroni). A: an arm’s interval lies above 0 and its ' +
  'gain is at least the effect that was looked for. C: an interval lies above 0, but the gain ' +
  'is smaller. B: none is above 0, and each lies below that effect. Else undecided.';

const CONSEQUENCES: Readonly<Record<Outcome, string>> = {
  A: 'Make it part of the standard run (tcpx irq apply, tcpx env), document it, tell upstream.',
  B: 'Keep the defaults and this negative result; look elsewhere: channels, chunks, kernel.',
  C: 'Keep the setting and go on: widen or narrow the sets, per-channel subsets, a hybrid.',
  undecided: 'More rounds (--runs-max), longer runs (--seconds), or a quieter machine.',
};

export interface Judgement {
  readonly fit: RoundFit | undefined;
  /** Of every arm but the first. */
  readonly changes: readonly ArmChange[];
  readonly decision: Decision;
}

/** `arms` in the order of the columns. */
export function judgeRounds(
  arms: readonly string[],
  rounds: Rounds,
  wish: Pick<RepetitionWish, 'alpha' | 'effect'>,
): Judgement {
  if (rounds.length < ROUNDS_MIN || arms.length < 2) {
    const reason = arms.length < 2 ? 'nothing is left to compare' : `${rounds.length} whole rounds`;
    const consequence = 'See why arms were left out, and the logs in the bundles of their runs.';
    const decision = { ...decided('undecided', undefined, reason), consequence };
    return { fit: undefined, changes: [], decision };
  }
  const fit = fitRounds(rounds);
  const share = shareOfAlpha(wish.alpha, arms.length);
  const changes = arms.slice(1).map((arm, index) => {
    const change = changeOf(fit, index + 1, share);
    return { arm, ...change, verdict: verdictOf(change, wish.effect) };
  });
  return { fit, changes, decision: decide(changes, wish.effect) };
}

export function verdictOf({ low, high }: Change, effect: number): ArmVerdict {
  if (low > 0) return 'faster';
  if (high < 0) return 'slower';
  return high < effect && low > 1 / (1 + effect) - 1 ? 'same' : 'undecided';
}

export function decide(changes: readonly ArmChange[], effect: number): Decision {
  const byGain = [...changes].sort((a, b) => b.change - a.change);
  const best = byGain.find(({ verdict }) => verdict === 'faster');
  if (best !== undefined) {
    const text = `${best.arm} is faster by ${changeText(best)}`;
    const outcome = best.change >= effect ? 'A' : 'C';
    return decided(outcome, best.arm, text);
  }
  const open = byGain.filter(({ high }) => high >= effect);
  if (open.length === 0) {
    const text = `no arm gains ${percent(effect)}: ${byGain.map(namedChange).join('; ')}`;
    return decided('B', undefined, text);
  }
  return decided('undecided', undefined, `too wide: ${open.map(namedChange).join('; ')}`);
}

function decided(outcome: Outcome, best: string | undefined, reason: string): Decision {
  return { outcome, best, reason, consequence: CONSEQUENCES[outcome] };
}

export function percent(fraction: number): string {
  const text = (100 * fraction).toFixed(1);
  return `${fraction > 0 ? '+' : ''}${text} %`;
}

export function changeText({ change, low, high }: Change): string {
  return `${percent(change)} (${percent(low)} to ${percent(high)})`;
}

function namedChange(one: ArmChange): string {
  return `${one.arm} ${changeText(one)}`;
}

/** Weights by the names of arms: one factor alone, or what two do together. */
export interface Contrast {
  readonly what: string;
  readonly weights: Readonly<Record<string, number>>;
}

export interface Attribution extends Change {
  readonly what: string;
}

/** Each with its own interval: they explain, they do not decide. */
export function attribute(
  contrasts: readonly Contrast[],
  arms: readonly string[],
  fit: RoundFit | undefined,
  alpha: number,
): readonly Attribution[] {
  if (fit === undefined) return [];
  const known = contrasts.filter(({ weights }) =>
    Object.keys(weights).every((arm) => arms.includes(arm)),
  );
  return known.map(({ what, weights }) => {
    const row = arms.map((arm) => weights[arm] ?? 0);
    return { what, ...contrastOf(fit, row, alpha) };
  });
}

/** One sentence about the first two: which of two factors the gain comes from. */
export function attributionText(parts: readonly Attribution[]): string {
  if (parts.length < 2) return 'The arms that would tell were not run.';
  const [one, other] = [at(parts, 0), at(parts, 1)];
  const helps = (part: Attribution) => part.low > 0;
  if (helps(one) && helps(other)) return `Both help: ${one.what} and ${other.what}.`;
  if (helps(one) || helps(other)) return `It comes from ${(helps(one) ? one : other).what}.`;
  return `Neither ${one.what} nor ${other.what} alone gains anything that can be told from noise.`;
}
