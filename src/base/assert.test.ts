import nodeAssert from 'node:assert/strict';
import { test } from 'node:test';
import { AssertionFailure, assert, at, unreachable } from './assert.js';

test('assert: a true claim passes, a false one throws with its text', () => {
  assert(true, 'fine');
  nodeAssert.throws(
    () => {
      assert(false, 'window is empty');
    },
    (error: unknown) => error instanceof AssertionFailure && /window is empty/.test(error.message),
  );
});

test('assert: an unreachable value is named', () => {
  nodeAssert.throws(() => unreachable('odd' as never), /unreachable value: odd/);
});

test('assert: an element is the one at its index, and an index beyond the list is named', () => {
  nodeAssert.equal(at(new Int32Array([7, 8]), 1), 8);
  nodeAssert.equal(at(['a'], 0), 'a');
  for (const index of [-1, 2, 0.5, Number.NaN]) {
    nodeAssert.throws(() => at([1, 2], index), new RegExp(`index ${index} is one of 2`));
  }
});
