import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { MainLook } from './main-look.js';

/** Each look finds the next of these, then nothing. */
function lookAt(found: readonly number[], asleep: readonly boolean[] = []) {
  const steps: string[] = [];
  const left = [...found];
  const canSleep = [...asleep];
  const look: MainLook = new MainLook({
    look: () => {
      const count = left.shift() ?? 0;
      steps.push(`found ${count}`);
      return count;
    },
    sleep: () => {
      steps.push('asleep');
      return canSleep.shift() ?? true;
    },
    again: () => look.wake(),
  });
  return { look, steps };
}

test('main look: one that finds nothing sleeps, and looks once more behind it', () => {
  const { look, steps } = lookAt([]);
  look.wake();
  assert.deepEqual(steps, ['found 0', 'asleep', 'found 0']);
});

test('main look: one that finds something looks again a turn later', async () => {
  const { look, steps } = lookAt([2, 1]);
  look.wake();
  assert.deepEqual(steps, ['found 2'], 'lanes need not wake it');
  await turn();
  await turn();
  await turn();
  assert.deepEqual(steps, ['found 2', 'found 1', 'found 0', 'asleep', 'found 0']);
});

test('main look: woken twice in a turn it looks again once', async () => {
  const { look, steps } = lookAt([1, 1]);
  look.wake();
  look.wake();
  await turn();
  await turn();
  assert.deepEqual(steps, ['found 1', 'found 1', 'found 0', 'asleep', 'found 0']);
});

test('main look: one that cannot sleep yet looks again a turn later', async () => {
  const { look, steps } = lookAt([], [false]);
  look.wake();
  await turn();
  assert.deepEqual(steps, ['found 0', 'asleep', 'found 0', 'asleep', 'found 0']);
});

test('main look: what comes just as it falls asleep is looked after', async () => {
  const { look, steps } = lookAt([0, 1]);
  look.wake();
  await turn();
  assert.deepEqual(steps, ['found 0', 'asleep', 'found 1', 'found 0', 'asleep', 'found 0']);
});
