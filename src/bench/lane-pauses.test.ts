import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pausesBetween } from './lane-pauses.js';

test('lane pauses: of the measured part alone', () => {
  const before = { count: 3, totalUs: 900, longestUs: 500 };
  assert.deepEqual(pausesBetween(before, { count: 4, totalUs: 1700, longestUs: 800 }), {
    ...{ count: 1, totalUs: 800, longestUs: 800 },
  });
  // The long one was before.
  assert.deepEqual(pausesBetween(before, { count: 5, totalUs: 1000, longestUs: 500 }), {
    ...{ count: 2, totalUs: 100 },
  });
  assert.deepEqual(pausesBetween(before, before), { count: 0, totalUs: 0 });
  assert.equal(pausesBetween(undefined, before), undefined);
});
