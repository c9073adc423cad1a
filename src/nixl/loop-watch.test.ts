import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../base/clock.js';
import { LoopWatch, STANDSTILL_MS_MAX } from './loop-watch.js';

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

function watchAt() {
  let nowUs = 5;
  const clock: Clock = { nowUs: () => nowUs };
  const watch = new LoopWatch(clock);
  return {
    ask: (times: number): boolean =>
      Array.from({ length: times }, () => watch.isStandingStill()).includes(true),
    pass: (ms: number): void => {
      nowUs += ms * 1000;
    },
  };
}

test('loop watch: many questions over a long time without a turn are a standstill', () => {
  const { ask, pass } = watchAt();
  assert.equal(ask(10_000), false, 'no time has passed');
  pass(STANDSTILL_MS_MAX + 1);
  assert.equal(ask(10_000), true);
});

test('loop watch: a turn in between is life', async () => {
  const { ask, pass } = watchAt();
  for (let round = 0; round < 5; round++) {
    assert.equal(ask(10_000), false);
    await nextTurn();
    pass(STANDSTILL_MS_MAX + 1);
  }
});

test('loop watch: few questions around long work are no standstill', () => {
  const { ask, pass } = watchAt();
  for (let round = 0; round < 100; round++) {
    assert.equal(ask(1), false);
    pass(STANDSTILL_MS_MAX + 1);
  }
});
