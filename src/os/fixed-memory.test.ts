import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMapped } from '../../test/support/process-resources.js';
import {
  copyMemory,
  createFixedMemory,
  destroyFixedMemory,
  openFixedMemory,
  ReusedMemory,
} from './fixed-memory.js';

test('fixed memory: all views show the same bytes, rounded up to pages', () => {
  const memory = createFixedMemory(100);
  assert.equal(memory.bytes, 4096);
  assert.equal(memory.addr % 4096, 0);
  memory.float64[1] = 1;
  assert.equal(memory.uint32[3], 0x3ff00000);
  assert.equal(memory.uint8[15], 0x3f);
  memory.int32[0] = -1;
  assert.equal(memory.uint32[0], 0xffffffff);
  destroyFixedMemory(memory);
});

test('fixed memory: opened by address it is the same memory, Atomics included', () => {
  const memory = createFixedMemory(4096);
  const other = openFixedMemory(memory.addr, memory.bytes);
  assert.equal(Atomics.add(other.int32, 7, 5), 0);
  assert.equal(Atomics.load(memory.int32, 7), 5);
  copyMemory(memory.addr + 1000, memory.addr + 28, 4);
  assert.equal(other.int32[250], 5);
  destroyFixedMemory(memory);
});

test('reused memory: the same place and views again, until the source ends', () => {
  const source = new ReusedMemory();
  const first = source.create(5000);
  source.destroy(first);
  assert.throws(() => source.destroy(first), /in use/);
  const again = source.create(6000);
  assert.equal(again, first, 'as many pages');
  const other = source.create(5000);
  assert.notEqual(other.addr, again.addr, 'the first one is in use');
  assert.notEqual(source.create(5000, { isLow: true }).addr, again.addr, 'of another kind');
  source.destroy(again);
  source.destroy(other);
  assert.ok(isMapped(again.addr));
  source.end();
  assert.ok(!isMapped(again.addr) && !isMapped(other.addr));
});

test('reused memory: a few wait with their pages, the others without', () => {
  const source = new ReusedMemory();
  const taken = Array.from({ length: 20 }, () => source.create(4096));
  for (const memory of taken) {
    memory.uint8.fill(7);
    source.destroy(memory);
  }
  const kept = taken.filter(({ uint8 }) => uint8[0] === 7);
  assert.equal(kept.length, 8);
  source.end();
});
