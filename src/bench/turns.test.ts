import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
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
}

test('turns: one at a time, round robin, and nobody before all are there', async () => {
  const turns = new Turns(3);
  const seen: string[] = [];
  const early = [contend(turns, 'a', 2, seen), contend(turns, 'b', 2, seen)];
  await nextTurn();
  assert.deepEqual(seen, []);
  await Promise.all([...early, contend(turns, 'c', 2, seen)]);
  const round = ['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]);
  assert.deepEqual(seen, [...round, ...round]);
});

test('turns: one that never gets ready does not hold up the rest', async () => {
  const turns = new Turns(2);
  const seen: string[] = [];
  const rest = contend(turns, 'a', 1, seen);
  turns.arrive();
  await rest;
  assert.deepEqual(seen, ['a begins', 'a ends']);
});
