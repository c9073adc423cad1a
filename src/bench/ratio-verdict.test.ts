// Whether a benchmark has become slower: verdicts on samples whose truth is known.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../base/random.js';
import { compareSpeeds } from './ratio-verdict.js';

const MARGIN = { margin: 0.05 };

/** Rates around `centre`, each up to `noise` of it away. */
function rates(centre: number, noise: number, count: number, seed: number): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => centre * (1 + noise * (2 * random.nextFloat() - 1)));
}

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('compareSpeeds', () => {
  test('a run with itself is the same, however noisy and however short', () => {
    for (const run of [rates(5, 0.8, 100, 1), rates(5, 0.8, 3, 1), [4]]) {
      const { verdict, ratio } = compareSpeeds([run], [run], MARGIN);
      assert.equal(verdict, 'same');
      assert.equal(ratio, 1);
    }
  });

  test('two runs of one speed are the same', () => {
    const { verdict, low, high } = compareSpeeds(
      [rates(5, 0.1, 200, 1)],
      [rates(5, 0.1, 200, 2)],
      MARGIN,
    );
    assert.equal(verdict, 'same');
    assert.ok(low > 0.95 && low < high && high < 1.05, `${low} … ${high}`);
  });

  test('ten per cent less is slower, ten per cent more is faster', () => {
    const before = [rates(5, 0.1, 200, 1)];
    assert.equal(compareSpeeds(before, [rates(4.5, 0.1, 200, 2)], MARGIN).verdict, 'slower');
    assert.equal(compareSpeeds(before, [rates(5.5, 0.1, 200, 3)], MARGIN).verdict, 'faster');
  });

  test('a change that is certain and smaller than the margin is no change', () => {
    const { verdict, high } = compareSpeeds(
      [rates(5, 0.001, 200, 1)],
      [rates(4.9, 0.001, 200, 2)],
      {
        margin: 0.05,
      },
    );
    assert.ok(high < 1, 'it is there');
    assert.equal(verdict, 'same');
  });

  test('noise that hides ten per cent leaves it undecided', () => {
    const { verdict } = compareSpeeds([rates(5, 0.9, 20, 1)], [rates(4.5, 0.9, 20, 2)], MARGIN);
    assert.equal(verdict, 'undecided');
  });

  test('too few iterations decide nothing', () => {
    const { verdict, reason } = compareSpeeds([rates(5, 0.01, 8, 1)], [[2, 2, 2]], MARGIN);
    assert.equal(verdict, 'undecided');
    assert.match(reason, /few/);
  });

  test('a slow phase within the runs is not taken for certainty', () => {
    // Half of each run in a phase of half the speed: neighbours are no independent evidence.
    const phased = (first: number, second: number) => [
      ...rates(first, 0.01, 25, 1),
      ...rates(second, 0.01, 25, 2),
    ];
    const { verdict } = compareSpeeds([phased(5, 2.5)], [phased(2.5, 5)], MARGIN);
    assert.equal(verdict, 'undecided');
  });

  test('several runs: their differences among each other count, not their iterations', () => {
    const runs = (centres: readonly number[], seed: number) =>
      centres.map((centre, index) => rates(centre, 0.01, 200, seed + index));
    const restless = compareSpeeds(runs([5, 4, 6], 1), runs([4.4, 5.2, 3.9], 9), MARGIN);
    assert.equal(restless.verdict, 'undecided');
    assert.ok(restless.isBetweenRuns);
    const steady = compareSpeeds(runs([5, 5.02, 4.98], 1), runs([4.5, 4.52, 4.48], 9), MARGIN);
    assert.equal(steady.verdict, 'slower');
  });

  test('one run each: says that it knows nothing of other runs', () => {
    assert.equal(compareSpeeds([[1]], [[1]], MARGIN).isBetweenRuns, false);
  });

  test('the same samples give the same interval every time', () => {
    const a = [rates(5, 0.2, 100, 1)];
    const b = [rates(5, 0.2, 100, 2)];
    assert.deepEqual(compareSpeeds(a, b, MARGIN), compareSpeeds(a, b, MARGIN));
  });

  test('of two equal populations at most a few in a hundred are called different', () => {
    let wrong = 0;
    for (let seed = 0; seed < 100; seed++) {
      const a = [rates(5, 0.3, 60, 1000 + seed)];
      const b = [rates(5, 0.3, 60, 5000 + seed)];
      const { verdict } = compareSpeeds(a, b, { margin: 0.01 });
      if (verdict === 'slower' || verdict === 'faster') wrong++;
    }
    assert.ok(wrong <= 8, `${wrong} of 100`);
  });
});
