import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ControlBufferPool } from './control-buffers.js';

test('control buffers: what is given back is taken again, and so many are kept', () => {
  const pool = new ControlBufferPool(64);
  const first = pool.take();
  pool.giveBack(first);
  assert.equal(pool.take(), first);
  const many = Array.from({ length: 100 }, () => pool.take());
  assert.equal(new Set(many).size, 100, 'nobody shares');
  for (const buffers of many) pool.giveBack(buffers);
  assert.equal(pool.spareCount, 64);
  pool.close();
  assert.equal(pool.spareCount, 0);
  pool.giveBack(first);
  assert.equal(pool.spareCount, 0, 'a socket that outlives its set leaves nothing behind');
});
