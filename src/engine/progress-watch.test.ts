// What counts as progress, and when a session is given up for want of it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProgressWatch, type SessionWork, settleBoundMs } from './progress-watch.js';

const LIMITS = { reconnectMs: 600, progressMs: 400, minRate: 10_000 };
const LOOK_MS = 50;
const WORK: SessionWork = {
  oldest: 1,
  newest: 1,
  confirmedBytes: 0,
  givenUpUs: Number.POSITIVE_INFINITY,
  isHeldHere: false,
};

/** Milliseconds until it is given up, looked at regularly; Infinity for not within 20 s. */
function lostAfterMs(workAt: (ms: number) => SessionWork): number {
  const watch = new ProgressWatch();
  for (let ms = 0; ms <= 20_000; ms += LOOK_MS) {
    if (watch.look(ms * 1000, workAt(ms), LIMITS, LOOK_MS) !== undefined) return ms;
  }
  return Number.POSITIVE_INFINITY;
}

test('progress: nothing confirmed is given up before the time is over', () => {
  const lostMs = lostAfterMs(() => WORK);
  assert.ok(lostMs > 900 && lostMs <= 1000, `${lostMs}`);
});

test('progress: the rate decides, whatever the size of a step', () => {
  const at = (rate: number, stepMs: number) =>
    lostAfterMs((ms) => ({
      ...WORK,
      confirmedBytes: (rate * Math.floor(ms / stepMs) * stepMs) / 1000,
    }));
  assert.equal(at(LIMITS.minRate * 1.2, 50), Number.POSITIVE_INFINITY);
  assert.equal(at(LIMITS.minRate * 2.5, 500), Number.POSITIVE_INFINITY);
  assert.ok(at(LIMITS.minRate * 0.9, 50) <= 1000);
  assert.ok(at(5, 200) <= 1000, 'a byte every 200 ms');
});

test('progress: small transfers that end one after the other are no trickle', () => {
  const lostMs = lostAfterMs((ms) => {
    const oldest = Math.floor(ms / 400);
    return { ...WORK, oldest, newest: oldest + 1 };
  });
  assert.equal(lostMs, Number.POSITIVE_INFINITY);
});

test('progress: one old transfer is not hidden by new ones that are posted behind it', () => {
  const lostMs = lostAfterMs((ms) => ({ ...WORK, newest: 1 + ms, confirmedBytes: ms / 10 }));
  assert.ok(lostMs <= 1000, `${lostMs}`);
});

test('progress: what waits for this machine blames nobody', () => {
  const heldMs = 5000;
  const lostMs = lostAfterMs((ms) => ({ ...WORK, isHeldHere: ms < heldMs }));
  assert.ok(lostMs >= heldMs + 850 && lostMs <= heldMs + 1000, `${lostMs}`);
});

test('progress: a transfer that is given up is free in time, however fast others are', () => {
  const fast = (ms: number) => ({ ...WORK, confirmedBytes: ms * 1e6, givenUpUs: 2_000_000 });
  const lostMs = lostAfterMs(fast);
  assert.ok(lostMs > 2900 && lostMs <= 3000, `${lostMs}`);
});

test('progress: rest forgets, as after the last transfer', () => {
  const watch = new ProgressWatch();
  assert.equal(watch.look(0, WORK, LIMITS, LOOK_MS), undefined);
  watch.rest();
  assert.equal(watch.look(5_000_000, WORK, LIMITS, LOOK_MS), undefined);
  assert.match(watch.look(6_000_000, WORK, LIMITS, LOOK_MS) ?? '', /0 B confirmed within 1000 ms/);
});

test('progress: the bound is what the rate and the patience come to', () => {
  assert.equal(settleBoundMs(LIMITS, 0), 2000);
  assert.equal(settleBoundMs(LIMITS, 30_000), 5000);
});
