import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { isTcpxError } from '../base/errors.js';
import { addressOf } from '../ffi/libc/library.js';
import { allocateRegionMemory } from './region-memory.js';

test('region memory: ordinary pages are zero, page-aligned and exactly as long as asked', () => {
  const { buffer, pages } = allocateRegionMemory(5000, 'normal');
  assert.equal(pages, 'normal');
  assert.equal(buffer.byteLength, 5000);
  assert.equal(addressOf(buffer) % 4096, 0);
  assert.ok(new Uint8Array(buffer).every((byte) => byte === 0));
});

test('region memory: auto leaves the host’s pool alone, and small memory on small pages', () => {
  const large = allocateRegionMemory(3 * 1024 * 1024, 'auto');
  assert.ok(['transparent', 'normal'].includes(large.pages), large.pages);
  assert.equal(large.buffer.byteLength, 3 * 1024 * 1024);
  new Uint8Array(large.buffer).fill(1);
  assert.equal(allocateRegionMemory(2 * 1024 * 1024 - 1, 'auto').pages, 'normal');
});

test('region memory: prefer-huge always succeeds and says what it got', () => {
  const { buffer, pages } = allocateRegionMemory(3 * 1024 * 1024, 'prefer-huge');
  assert.ok(['huge', 'transparent', 'normal'].includes(pages), pages);
  assert.equal(buffer.byteLength, 3 * 1024 * 1024);
  new Uint8Array(buffer).fill(1);
});

test('region memory: huge pages come, or are ERR_CAP_HUGE_PAGES', () => {
  try {
    assert.equal(allocateRegionMemory(100, 'huge').pages, 'huge');
  } catch (error) {
    assert.ok(isTcpxError(error, 'ERR_CAP_HUGE_PAGES'), String(error));
  }
});

test('region memory: no bytes, half a byte or too many are refused', () => {
  for (const bytes of [0, -1, 1.5, Number.NaN, 2 ** 60]) {
    const allocate = () => allocateRegionMemory(bytes, 'normal');
    assert.throws(allocate, withCode('ERR_USAGE_ARGUMENT'), String(bytes));
  }
  assert.throws(() => allocateRegionMemory(2 ** 50, 'normal'), withCode('ERR_SYS_CALL', /ENOMEM/));
});
