import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  copyMemory,
  createFixedMemory,
  destroyFixedMemory,
  openFixedMemory,
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
