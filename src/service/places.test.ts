import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Places } from './places.js';

test('places: the lowest that is free, and none twice', () => {
  const places = new Places();
  assert.deepEqual([places.take(), places.take(), places.take()], [0, 1, 2]);
  places.giveBack(0);
  places.giveBack(1);
  assert.deepEqual([places.take(), places.take(), places.take()], [0, 1, 3]);
  places.giveBack(2);
  assert.throws(() => places.giveBack(2), /given back once/);
});
