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

test('assert: an index out of range is a bug, zero is a value', () => {
  nodeAssert.equal(at([0, 1], 0), 0);
  nodeAssert.throws(() => at(new Float64Array(2), 2), /index 2 of 2/);
  nodeAssert.throws(() => at(['a'], -1), AssertionFailure);
});
