import nodeAssert from 'node:assert/strict';
import { test } from 'node:test';
import { AssertionFailure, assert, unreachable } from './assert.js';

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
