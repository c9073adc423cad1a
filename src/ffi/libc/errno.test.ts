import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { test } from 'node:test';
import * as errno from './errno.js';

test('errno: every named number is the one that the system headers give', () => {
  let compared = 0;
  for (let number = 1; number < 134; number++) {
    const name = errno.errnoName(number);
    if (name.startsWith('errno ')) continue;
    assert.equal((constants.errno as Record<string, number>)[name] ?? number, number, name);
    compared++;
  }
  assert.ok(compared > 30);
});

test('errno: exported constants agree with the names', () => {
  for (const [name, value] of Object.entries(errno)) {
    if (typeof value === 'number') assert.equal(errno.errnoName(value), name);
  }
});

test('errno: an unknown number is named by itself', () => {
  assert.equal(errno.errnoName(9999), 'errno 9999');
});
