import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ENGINE_WAITERS } from '../lane/layout.js';
import { createFixedMemory, destroyFixedMemory } from '../memory/fixed-memory.js';
import { FinishWait } from './finish-wait.js';

const SPIN_US = 200;
const shared = createFixedMemory(4096);
after(() => destroyFixedMemory(shared));

/** Events come with the `at`th look of a wait; with none if that is never reached. */
class Waiting {
  at = Number.POSITIVE_INFINITY;
  looks = 0;
  readonly wait = new FinishWait(shared, SPIN_US, () => (++this.looks >= this.at ? 1 : 0));

  looksOfOne(at: number, timeoutMs: number): number {
    this.at = at;
    this.looks = 0;
    this.wait.wait(timeoutMs);
    assert.equal(shared.int32[ENGINE_WAITERS], 0, 'lanes need wake nobody any more');
    return this.looks;
  }
}

test('finish wait: what comes at the first look is taken without a sleep', () => {
  const waiting = new Waiting();
  assert.equal(waiting.looksOfOne(1, 1000), 1);
});

test('finish wait: where nothing comes in time it soon sleeps without looking again', () => {
  const waiting = new Waiting();
  const never = Number.POSITIVE_INFINITY;
  assert.ok(waiting.looksOfOne(never, 2) > 1);
  for (let count = 0; count < 8; count++) waiting.looksOfOne(never, 2);
  assert.equal(waiting.looksOfOne(never, 2), 1, 'the look before the sleep');
});

test('finish wait: one that slept and was told at once looks longer the next time', () => {
  const waiting = new Waiting();
  for (let count = 0; count < 9; count++) waiting.looksOfOne(Number.POSITIVE_INFINITY, 2);
  // The look before the sleep finds something: hardly any time has passed.
  assert.equal(waiting.looksOfOne(1, 2), 1);
  assert.ok(waiting.looksOfOne(Number.POSITIVE_INFINITY, 2) > 1);
});

test('finish wait: no longer than it was given', () => {
  const waiting = new Waiting();
  const startMs = performance.now();
  waiting.looksOfOne(Number.POSITIVE_INFINITY, 0.05);
  assert.ok(performance.now() - startMs < 100);
});
