import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapMemory, unmapMemory } from '../ffi/libc/mapping.js';
import { readableBytes } from './mapped-range.js';

const MAPS = `1000-3000 rw-p 00000000 00:00 0
3000-4000 r--p 00000000 00:00 0
4000-5000 ---p 00000000 00:00 0
5000-6000 rw-p 00000000 00:00 0
`;

test('mapped range: neighbours count, what cannot be read does not', () => {
  assert.equal(readableBytes(0x1000, MAPS), 0x3000);
  assert.equal(readableBytes(0x2ff8, MAPS), 0x1008);
  assert.equal(readableBytes(0x4800, MAPS), 0);
  assert.equal(readableBytes(0x5fff, MAPS), 1);
  assert.equal(readableBytes(0x6000, MAPS), 0);
  assert.equal(readableBytes(0, MAPS), 0);
});

test('mapped range: of this process', () => {
  const mapping = mapMemory(8192);
  assert.ok(readableBytes(mapping.addr) >= 8192);
  unmapMemory(mapping);
  assert.equal(readableBytes(8), 0);
});
