import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declareFrame } from './frame-fields.js';

const field = (name: string, offset: number, bytes: number) => ({
  name,
  offset,
  bytes,
  meaning: '',
});

test('frame fields: a gap, an overlap, a wrong total are assertions when the module loads', () => {
  assert.equal(declareFrame(6, [field('a', 0, 4), field('b', 4, 2)]).length, 2);
  assert.throws(() => declareFrame(6, [field('a', 0, 3), field('b', 4, 2)]), /b starts at 3/);
  assert.throws(() => declareFrame(6, [field('a', 0, 5), field('b', 4, 2)]), /b starts at 5/);
  assert.throws(() => declareFrame(8, [field('a', 0, 4), field('b', 4, 2)]), /fill 8 bytes/);
});
