import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as failure from './failure.js';

const CONSTANTS = Object.entries(failure).filter(([name]) => /^FAIL_[A-Z_]+$/.test(name));

test('failures: numbers rise and come once, so that each has one code and one text', () => {
  const numbers = failure.FAILURES.map(({ number }) => number);
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].sort((a, b) => a - b),
  );
  const codes = failure.FAILURES.map(({ code }) => code);
  assert.equal(new Set(codes).size, codes.length);
});

test('failures: every constant is a row of the table, and every row has a constant', () => {
  const named = CONSTANTS.map(([, value]) => value).filter((value) => value !== failure.FAIL_NONE);
  assert.deepEqual(
    named.sort((a, b) => Number(a) - Number(b)),
    failure.FAILURES.map(({ number }) => number),
  );
});

test('failures: a refusal says what is logged and what it means, others say neither', () => {
  for (const { number, refused, meaning } of failure.FAILURES) {
    assert.equal(refused === undefined, meaning === undefined, `${number}`);
    assert.equal(failure.isRefusal(number), refused !== undefined, `${number}`);
  }
});

test('failures: a number of the wire that is no refusal is none, whatever it is', () => {
  for (const reason of [0, 7, 15, 17, 32, 33, 255, 256, 257, 2 ** 31, 2 ** 32 - 1, -1, 0.5]) {
    assert.equal(failure.isRefusal(reason), false, `${reason}`);
  }
  assert.throws(() => failure.failureOf(7), /7 is the number of a failure/);
  assert.equal(failure.failureOf(failure.FAIL_BOUNDS).code, 'ERR_PEER_BOUNDS');
});
