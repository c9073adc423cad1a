import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf } from '../../src/ffi/libc/library.js';
import { processRateGBps } from './process-rate.js';

test('process rate: every byte of the range is moved, a last short chunk too', () => {
  const bytes = 20 * 512 * 1024 + 5;
  const memory = Buffer.alloc(bytes + 1, 7);
  const range = { pid: process.pid, addr: addressOf(memory), bytes };
  assert.ok(processRateGBps(range, 'read') > 0);
  assert.ok(processRateGBps(range, 'write') > 0);
  // Fresh staging memory is empty.
  assert.equal(memory.indexOf(7), bytes);
});

test('process rate: memory that is not there ends it', () => {
  const range = { pid: process.pid, addr: 4096, bytes: 10 };
  assert.throws(() => processRateGBps(range, 'read'), /missing/);
});
