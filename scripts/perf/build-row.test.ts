import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareBuilds } from './build-row.js';

const RATE = { isMoreBetter: true };
const LATENCY = { isMoreBetter: false };
const STEADY = [10, 10, 10, 10, 10];

test('a build within three per cent of the other is not worse', () => {
  assert.equal(compareBuilds(RATE, STEADY, [9.8, 9.8, 9.8, 9.8, 9.8]).isWorse, false);
  assert.equal(compareBuilds(LATENCY, STEADY, [10.2, 10.2, 10.2, 10.2, 10.2]).isWorse, false);
});

test('a steady loss beyond that is worse, in the direction that counts', () => {
  assert.equal(compareBuilds(RATE, STEADY, [9, 9, 9, 9, 9]).isWorse, true);
  assert.equal(compareBuilds(RATE, STEADY, [11, 11, 11, 11, 11]).isWorse, false);
  assert.equal(compareBuilds(LATENCY, STEADY, [11, 11, 11, 11, 11]).isWorse, true);
});

test('the spread of the noisier build is allowed for, one far sample is not', () => {
  assert.equal(compareBuilds(RATE, [8, 9, 10, 11, 12], [9.2, 9.2, 9.2, 9.2, 9.2]).isWorse, false);
  assert.equal(compareBuilds(RATE, [10, 10, 10, 10, 90], [9, 9, 9, 9, 9]).isWorse, true);
});
