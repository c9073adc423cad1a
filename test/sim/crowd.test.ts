// Many sessions to one engine, all writing at once: none is forgotten, and none gets much less.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCrowd } from '../support/sim/sim-crowd.js';

test('crowd: sessions of many senders are served evenly, whatever their order', async () => {
  for (const [senders, sessionsEach] of [
    [30, 1],
    [6, 5],
  ] as const) {
    const plan = { seed: 3, senders, sessionsEach, writes: 4, writeBytes: 8192 };
    const figures = await runCrowd(plan);
    const text = JSON.stringify(figures);
    assert.equal(figures.sessions, 30, text);
    assert.equal(figures.refusals, 0, text);
    assert.ok(figures.fairness > 0.98, text);
    assert.ok(figures.least > 0.5, text);
  }
});

test('crowd: the same seed does the same again', async () => {
  const plan = { seed: 7, senders: 5, sessionsEach: 2, writes: 2, writeBytes: 4096 };
  assert.deepEqual(await runCrowd(plan), await runCrowd(plan));
});
