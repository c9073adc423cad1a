import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastest } from './finalists.js';

test('finalists: the fastest, in the order in which they came', () => {
  const names = ['a', 'b', 'c', 'd'];
  assert.deepEqual(fastest(names, [1, 4, 2, 3], 2), ['b', 'd']);
  assert.deepEqual(fastest(names, [9, 4, 2, 3], 1), ['a']);
  assert.deepEqual(fastest(names, [1, 2, 3, 4], 9), names, 'no more than there are');
  assert.throws(() => fastest(names, [1, 2], 1), 'a rate for each');
});
