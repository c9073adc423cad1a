import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atLeast, atLeastInTurn, atMostAlone, atMostInTurn, notMeasured } from './verdict.js';

const UNIT = { name: 'GB/s', scale: 1 };

test('in turn: what slows whole sets does not move the ratio, as it does that of medians', () => {
  const theirs = [8, 4, 8, 4, 6];
  const ours = theirs.map((rate) => rate * 0.97);
  assert.equal(atLeastInTurn('a', ours, [theirs], 0.95, UNIT).measured, '0.97 ×');
  // One set that was slow for us alone is an outlier, not the verdict.
  ours[0] = 1;
  const row = atLeastInTurn('a', ours, [theirs], 0.95, UNIT);
  assert.equal(row.measured, '0.97 ×');
  assert.equal(row.isMet, true);
  assert.match(row.detail, /^sets 0\.13 … 0\.97; /);
  assert.equal(atLeast('a', ours, theirs, 0.95, UNIT).isMet, false);
});

test('in turn: against several, the one that is hardest to reach counts', () => {
  const row = atLeastInTurn(
    'a',
    [9, 9, 9],
    [
      [8, 8, 8],
      [10, 10, 10],
      [9, 9, 9],
    ],
    0.95,
    UNIT,
  );
  assert.equal(row.measured, '0.90 ×');
  assert.equal(row.isMet, false);
  assert.match(row.detail, /against 10\.00 GB\/s/);
});

test('in turn, at most: slow phases that fall on one side now and then are outliers', () => {
  const ours = [7, 11, 7, 11, 7];
  const theirs = [9.2, 13.1, 9.2, 9.2, 9.2];
  assert.equal(atMostInTurn('a', ours, [theirs], 0.8, UNIT).isMet, true);
  assert.equal(atMostInTurn('a', [11, 11, 11, 7, 7], [theirs], 0.8, UNIT).isMet, false);
  const fast = theirs.map(() => 7);
  assert.equal(atMostInTurn('a', ours, [theirs, fast], 0.8, UNIT).measured, '1.00 ×');
});

test('what could not be measured is neither met nor missed; a limit alone has its unit', () => {
  assert.equal(notMeasured('a', 'no iperf3').isMet, undefined);
  const row = atMostAlone('a', [2, 3, 4], 3, UNIT);
  assert.deepEqual([row.isMet, row.bar, row.measured], [true, '≤ 3 GB/s', '3.00 GB/s']);
  assert.equal(atMostAlone('a', [4, 4, 4], 3, UNIT).isMet, false);
});
