import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atLeast, atLeastInTurn, atMostInTurn } from './verdict.js';

const UNIT = { name: 'GB/s', scale: 1 };

test('in turn: what slows whole sets does not move the ratio, as it does that of medians', () => {
  const theirs = [8, 4, 8, 4, 6];
  const ours = theirs.map((rate) => rate * 0.97);
  assert.equal(atLeastInTurn('a', ours, [theirs], 0.95, UNIT).measured, '0.97 ×');
  // One set that was slow for us alone is an outlier, not the verdict.
  ours[0] = 1;
  const row = atLeastInTurn('a', ours, [theirs], 0.95, UNIT);
  assert.equal(row.measured, '0.97 ×');
  assert.ok(row.isMet);
  assert.match(row.detail, /^sets 0\.13 … 0\.97; /);
  assert.ok(!atLeast('a', ours, theirs, 0.95, UNIT).isMet);
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
  assert.ok(!row.isMet);
  assert.match(row.detail, /against 10\.00 GB\/s/);
});

test('in turn, at most: slow phases that fall on one side now and then are outliers', () => {
  const ours = [7, 11, 7, 11, 7];
  const theirs = [9.2, 13.1, 9.2, 9.2, 9.2];
  assert.ok(atMostInTurn('a', ours, [theirs], 0.8, UNIT).isMet);
  assert.ok(!atMostInTurn('a', [11, 11, 11, 7, 7], [theirs], 0.8, UNIT).isMet);
  const fast = theirs.map(() => 7);
  assert.equal(atMostInTurn('a', ours, [theirs, fast], 0.8, UNIT).measured, '1.00 ×');
});
