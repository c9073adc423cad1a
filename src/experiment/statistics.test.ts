// The statistics of experiments, on rates that are made up from a seed: how often they find what is
// not there, and how often what is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../base/assert.js';
import { type Random, seededRandom } from '../base/random.js';
import { attribute, attributionText, decide, judgeRounds, verdictOf } from './decision.js';
import { orderOfRound, roundsFor, roundsWanted } from './repetitions.js';
import { changeOf, fitRounds } from './round-fit.js';
import { studentQuantile, studentTail } from './student.js';

test('student: quantiles as printed in tables', () => {
  const table = [
    [0.975, 1, 12.7062],
    [0.975, 10, 2.2281],
    [0.99, 2, 6.9646],
    [0.995, 30, 2.75],
    [0.95, 1000, 1.6464],
  ] as const;
  for (const [probability, freedom, value] of table) {
    assert.ok(Math.abs(studentQuantile(probability, freedom) - value) < 1e-4, String(value));
    assert.ok(Math.abs(studentQuantile(1 - probability, freedom) + value) < 1e-4);
    assert.ok(Math.abs(studentTail(value, freedom) - (1 - probability)) < 1e-4);
  }
});

test('rounds: a machine that slows down as a whole is no difference between arms', () => {
  const fit = fitRounds([
    [10, 11.1, 9],
    [5, 5.45, 4.5],
    [2, 2.2, 1.81],
  ]);
  assert.ok(fit.spread < 0.01);
  const { change, low, high } = changeOf(fit, 1, 0.05);
  assert.ok(Math.abs(change - 0.1) < 0.01 && low > 0.05 && high < 0.15);
});

test('repetitions: three at least, more for noise, no more than the cap', () => {
  const wish = { roundsMin: 3, roundsMax: 12, effect: 0.1, alpha: 0.05 };
  assert.deepEqual(
    [0, 0.02, 0.05].map((spread) => roundsFor(spread, 5, wish)),
    [3, 3, 9],
  );
  assert.ok(roundsFor(0.1, 5, wish) > 12);
  assert.deepEqual(roundsWanted([], 5, wish), { rounds: 3, isCapped: false });
  const noisy = [
    [10, 14, 8],
    [9, 8, 13],
    [14, 9, 10],
  ];
  assert.deepEqual(roundsWanted(noisy, 3, wish), { rounds: 12, isCapped: true });
});

test('order: every arm once in each round, by the seed alone, and not always the same', () => {
  const arms = ['T1', 'T2', 'T3', 'T4', 'T5'];
  const rounds = Array.from({ length: 50 }, (_, round) => orderOfRound(arms, 7, round));
  for (const round of rounds) assert.deepEqual([...round].sort(), arms);
  assert.deepEqual(orderOfRound(arms, 7, 3), rounds[3]);
  assert.ok(new Set(rounds.map((round) => round.join())).size > 20);
  for (const arm of arms)
    assert.ok(
      rounds.some((round) => round[0] === arm),
      arm,
    );
});

const change = (arm: string, low: number, middle: number, high: number) => {
  const interval = { change: middle, low, high };
  return { arm, ...interval, verdict: verdictOf(interval, 0.1) };
};

test('decision: A for a gain, C for a part of it, B for none, else undecided', () => {
  const none = change('T2', -0.03, 0.01, 0.05);
  const cases = [
    [[none, change('T4', 0.05, 0.12, 0.2)], 'A', 'T4'],
    [[none, change('T4', 0.01, 0.04, 0.07)], 'C', 'T4'],
    [[none, change('T4', -0.2, -0.15, -0.1)], 'B', undefined],
    [[none], 'B', undefined],
    [[none, change('T4', -0.02, 0.06, 0.14)], 'undecided', undefined],
    [[none, change('T4', 0.02, 0.04, 0.07), change('T5', 0.3, 0.4, 0.5)], 'A', 'T5'],
    [[none, change('T4', 0.001, 0.099, 0.2)], 'C', 'T4'],
  ] as const;
  for (const [changes, outcome, best] of cases) {
    const decision = decide(changes, 0.1);
    assert.equal(decision.outcome, outcome, decision.reason);
    assert.equal(decision.best, best);
    assert.ok(decision.consequence.length > 0);
  }
  assert.equal(
    judgeRounds(['T1', 'T2'], [[1, 2]], { alpha: 0.05, effect: 0.1 }).decision.outcome,
    'undecided',
  );
  assert.equal(
    judgeRounds(['T1'], [[1], [1], [1]], { alpha: 0.05, effect: 0.1 }).decision.outcome,
    'undecided',
  );
});

test('attribution: the factor that alone helps is named', () => {
  const rounds = [
    [10, 10.1, 12, 12.1],
    [9, 8.95, 10.85, 10.8],
    [11, 11.05, 13.1, 13.2],
  ];
  const arms = ['T1', 'T2', 'T3', 'T4'];
  const { fit } = judgeRounds(arms, rounds, { alpha: 0.05, effect: 0.1 });
  const parts = attribute(
    [
      { what: 'the variables', weights: { T2: 1, T1: -1 } },
      { what: 'the interrupts', weights: { T3: 1, T1: -1 } },
      { what: 'both together beyond each', weights: { T4: 1, T2: -1, T3: -1, T1: 1 } },
      { what: 'not run', weights: { T5: 1, T4: -1 } },
    ],
    arms,
    fit,
    0.05,
  );
  assert.deepEqual(parts.map(({ what }) => what).length, 3);
  assert.equal(attributionText(parts), 'It comes from the interrupts.');
  assert.ok(Math.abs(at(parts, 2).change) < 0.01);
});

/** Like a run on a machine with phases: what a round has in common is not the arm's. */
const PHASE = 0.05;
const ARMS = ['T1', 'T2', 'T3', 'T4', 'T5'];
const ALPHA = 0.05;

function normal(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random.nextFloat()));
  return radius * Math.cos(2 * Math.PI * random.nextFloat());
}

/** A whole experiment: rounds until the spread or the cap says enough, then the verdicts. */
function simulate(random: Random, spread: number, effect: number, roundsMax: number) {
  const wish = { roundsMin: 3, roundsMax, effect: 0.1, alpha: ALPHA };
  const rounds: number[][] = [];
  while (rounds.length < roundsWanted(rounds, ARMS.length, wish).rounds) {
    const phase = PHASE * normal(random);
    const gain = (arm: number) => (arm === 3 ? Math.log1p(effect) : 0);
    rounds.push(ARMS.map((_, arm) => Math.exp(phase + gain(arm) + spread * normal(random))));
  }
  return judgeRounds(ARMS, rounds, wish).changes.map(({ verdict }) => verdict);
}

test('simulation: 2,000 experiments at each spread: few false alarms, true effects found', () => {
  const random = seededRandom(20_261_116);
  for (const [spread, roundsMax, isEnough, repeats] of [
    [0.02, 12, true, 2000],
    [0.05, 12, true, 2000],
    [0.1, 12, false, 2000],
    // Costly: each has forty rounds.
    [0.1, 60, true, 250],
  ] as const) {
    const what = `spread ${spread}, cap ${roundsMax}`;
    const share = (count: number) => count / repeats;
    let alarms = 0;
    let found = 0;
    let open = 0;
    for (let repeat = 0; repeat < repeats; repeat++) {
      const verdicts = simulate(random, spread, 0, roundsMax);
      if (verdicts.some((verdict) => verdict === 'faster' || verdict === 'slower')) alarms++;
      const verdict = at(simulate(random, spread, 0.1, roundsMax), 2);
      if (verdict === 'faster') found++;
      if (verdict === 'undecided') open++;
    }
    assert.ok(share(alarms) <= ALPHA + 0.01, `${what}: ${alarms} false alarms`);
    if (isEnough) assert.ok(share(found) >= 0.8, `${what}: found ${found}`);
    // Where the cap forbids to know, it says so: hardly ever that there is nothing.
    else assert.ok(share(open + found) >= 0.99 && share(open) > 0.5, `${what}: open ${open}`);
  }
});
