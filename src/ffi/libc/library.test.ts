import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../../test/support/expect-error.js';
import { EBADF } from './errno.js';
import { addressOf, checkCall, systemCallError, viewMemory } from './library.js';

const SOURCES = {
  Buffer: () => Buffer.alloc(64),
  'pooled Buffer': () => Buffer.from('x'.repeat(64)),
  'small Uint8Array (kept on the heap until asked for)': () => new Uint8Array(16),
  'offset view': () => new Uint8Array(new ArrayBuffer(256), 100, 64),
  Float64Array: () => new Float64Array(8),
  ArrayBuffer: () => new ArrayBuffer(64),
  SharedArrayBuffer: () => new SharedArrayBuffer(64),
};

for (const [name, make] of Object.entries(SOURCES)) {
  test(`address: bytes written through a ${name} are read at its address, and back`, () => {
    const memory = make();
    const own = ArrayBuffer.isView(memory)
      ? new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength)
      : new Uint8Array(memory);
    const seen = new Uint8Array(viewMemory(addressOf(memory), own.length));
    own.forEach((_, index) => (own[index] = index + 1));
    assert.deepEqual([...seen], [...own]);
    seen[3] = 0xee;
    assert.equal(own[3], 0xee);
  });
}

test('address: a view of address 0 or of a fraction is an assertion, not a crash', () => {
  assert.throws(() => viewMemory(0, 16), /safe positive integer/);
  assert.throws(() => viewMemory(1.5, 16), /safe positive integer/);
});

test('call result: below zero becomes an error that names call, object and errno', () => {
  assert.equal(checkCall('read', 'fd 3', 7), 7);
  assert.throws(() => checkCall('read', 'fd 3', -EBADF), withCode('ERR_SYS_CALL', /read fd 3/));
  const { facts } = systemCallError('read', 'fd 3', EBADF);
  assert.deepEqual(facts, { call: 'read', errno: EBADF, errnoName: 'EBADF', object: 'fd 3' });
});
