import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Turns } from './turns.js';

async function contend(turns: Turns, name: string, rounds: number, seen: string[]) {
  turns.arrive();
  for (let round = 0; round < rounds; round++) {
    const end = await turns.take();
    seen.push(`${name} begins`);
    await nextTurn();
    seen.push(`${name} ends`);
    end();
  }
  await turns.leave();
  seen.push(`${name} leaves`);
}

function roundOf(names: readonly string[]): string[] {
  return names.flatMap((name) => [`${name} begins`, `${name} ends`]);
}

test('turns: one at a time, round robin, and nobody before all are there', async () => {
  const turns = new Turns(3);
  const seen: string[] = [];
  const early = [contend(turns, 'a', 2, seen), contend(turns, 'b', 2, seen)];
  await nextTurn();
  assert.deepEqual(seen, []);
  await Promise.all([...early, contend(turns, 'c', 2, seen)]);
  const round = roundOf(['a', 'b', 'c']);
  assert.deepEqual(seen.slice(0, 12), [...round, ...round]);
});

test('turns: nobody leaves before the last turn has ended', async () => {
  const turns = new Turns(2);
  const seen: string[] = [];
  await Promise.all([contend(turns, 'a', 1, seen), contend(turns, 'b', 3, seen)]);
  assert.deepEqual(seen.slice(0, 8), roundOf(['a', 'b', 'b', 'b']));
  assert.deepEqual(seen.slice(8), ['a leaves', 'b leaves']);
});

test('turns: one that fails ends those who wait for a turn, or to leave', async () => {
  const turns = new Turns(3);
  const through = contend(turns, 'a', 1, []);
  const waiting = contend(turns, 'b', 5, []);
  turns.arrive();
  await turns.take();
  turns.fail(new Error('the target died'));
  await assert.rejects(through, /the target died/);
  await assert.rejects(waiting, /the target died/);
  await assert.rejects(turns.take(), /the target died/);
});

test('turns: after a failure none is given, though the one before has ended', async () => {
  const turns = new Turns(1);
  turns.arrive();
  const end = await turns.take();
  end();
  turns.fail(new Error('the target died'));
  await assert.rejects(turns.take(), /the target died/);
});

test('turns: one that fails before it is ready does not keep the others', async () => {
  const turns = new Turns(2);
  const waiting = contend(turns, 'a', 1, []);
  turns.fail(new Error('no such address'));
  await assert.rejects(waiting, /no such address/);
});
