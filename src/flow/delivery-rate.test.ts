import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flightLimit, nextMeanRate, nextRate } from './delivery-rate.js';

const MIB = 1024 * 1024;
const CHUNK = MIB / 2;

/** In the end, of a path that is given as much as the limit allows. */
function rateReached(pathRate: number, pathUs: number, trips: number): number {
  let limit = 4 * CHUNK;
  let rate = 0;
  for (let trip = 0; trip < trips; trip++) {
    const tripUs = Math.max(pathUs, limit / pathRate);
    rate = nextRate(rate, limit, tripUs);
    limit = flightLimit(rate, pathUs, CHUNK);
  }
  return rate;
}

test('flight: a near channel holds what it delivers in 20 ms, two chunks at least', () => {
  assert.equal(flightLimit(1000, 100, CHUNK), 20_100_000);
  assert.equal(flightLimit(1, 100, CHUNK), 2 * CHUNK);
});

// Of 20 ms alone a path of 40 ms would never see more than the four chunks that it began with.
test('flight: the rate of a far path is found within a few round trips', () => {
  for (const pathUs of [1000, 20_000, 100_000, 300_000]) {
    const rate = rateReached(1250, pathUs, 12);
    assert.ok(rate >= 0.99 * 1250, `${pathUs} µs: ${rate}`);
  }
});

test('rates: one rises at once, the mean takes neither bursts nor pauses at their word', () => {
  assert.equal(nextRate(100, 4000, 10), 400);
  assert.equal(nextMeanRate(0, 4000, 10), 400);
  assert.equal(nextMeanRate(100, 4000, 10), 118.75);
  assert.equal(nextMeanRate(100, 0, 10), 93.75);
  for (const next of [nextRate, nextMeanRate]) assert.equal(next(100, 4000, 0), 100);
});
