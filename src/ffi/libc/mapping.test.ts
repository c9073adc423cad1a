import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../../test/support/expect-error.js';
import { isMapped, mappedBytes } from '../../../test/support/process-resources.js';
import { errnoName } from './errno.js';
import { closeFd } from './file-descriptor.js';
import {
  adviseHugePages,
  copyMemory,
  createMemoryFile,
  mapMemory,
  tryMapMemory,
  unmapMemory,
  viewMapping,
} from './mapping.js';

const MIB = 1024 * 1024;

test('mapping: fresh memory is zero, aligned, and gone after unmap', () => {
  const mapping = mapMemory(3 * 4096);
  const bytes = new Uint8Array(viewMapping(mapping));
  assert.equal(mapping.addr % 4096, 0);
  assert.ok(bytes.every((byte) => byte === 0));
  bytes.fill(7);
  assert.ok(isMapped(mapping.addr));
  unmapMemory(mapping);
  assert.ok(!isMapped(mapping.addr));
});

test('mapping: a large file lies where huge pages can be mapped, and nothing beside it', () => {
  const bytes = 5 * MIB + 1;
  const fd = createMemoryFile('large', bytes);
  // V8 may map a page of its heap meanwhile, but not each time.
  const beside = [0, 1, 2].map(() => {
    const before = mappedBytes();
    const tried = mapMemory(bytes, { fd });
    const after = mappedBytes();
    unmapMemory(tried);
    return after - before;
  });
  assert.ok(beside.includes(0), `${beside.join(', ')} bytes`);
  const mapping = mapMemory(bytes, { fd });
  assert.equal(mapping.addr % (2 * MIB), 0);
  assert.equal(mapping.bytes, bytes);
  assert.ok(isMapped(mapping.addr + bytes - 1));
  new Uint8Array(viewMapping(mapping)).fill(7);
  unmapMemory(mapping);
  assert.ok(!isMapped(mapping.addr));
  closeFd(fd);
});

test('mapping: low memory has an address that is a small integer, where x86-64 gives one', () => {
  const mapping = mapMemory(4096, { isLow: true });
  if (process.arch === 'x64') assert.equal(mapping.addr, mapping.addr | 0);
  assert.ok(isMapped(mapping.addr));
  unmapMemory(mapping);
  assert.ok(!isMapped(mapping.addr));
});

test('mapping: low memory comes from elsewhere when there is no room below 2 GiB', () => {
  const mapping = mapMemory(3 * 1024 * MIB, { isLow: true, isReserveOnly: true });
  assert.ok(mapping.addr >= 2 ** 31);
  unmapMemory(mapping);
});

test('mapping: two mappings of one memory file see the same bytes', () => {
  const fd = createMemoryFile('tcpx-test', 8192);
  const first = mapMemory(8192, { fd });
  const second = mapMemory(8192, { fd });
  assert.notEqual(first.addr, second.addr);
  const writer = new Uint8Array(viewMapping(first));
  const reader = new Uint8Array(viewMapping(second));
  writer[5000] = 42;
  assert.equal(reader[5000], 42);
  closeFd(fd);
  reader[1] = 9;
  assert.equal(writer[1], 9);
  unmapMemory(first);
  unmapMemory(second);
});

test('mapping: private memory is not shared', () => {
  const first = mapMemory(4096, { isPopulated: true });
  const second = mapMemory(4096);
  new Uint8Array(viewMapping(first)).fill(1);
  assert.equal(new Uint8Array(viewMapping(second))[0], 0);
  copyMemory(second.addr + 8, first.addr, 16);
  assert.deepEqual([...new Uint8Array(viewMapping(second)).slice(6, 10)], [0, 0, 1, 1]);
  unmapMemory(first);
  unmapMemory(second);
});

test('mapping: a terabyte can be reserved, a petabyte is ENOMEM with its size named', () => {
  const mapping = mapMemory(2 ** 40, { isReserveOnly: true });
  unmapMemory(mapping);
  assert.throws(() => mapMemory(2 ** 50), withCode('ERR_SYS_CALL', /mmap 1125899906842624 bytes/));
});

test('mapping: a bad descriptor and an odd address are errors', () => {
  assert.equal(errnoName(-(tryMapMemory(4096, { fd: 999_999 }) as number)), 'EBADF');
  assert.throws(() => unmapMemory({ addr: 4097, bytes: 4096 }), withCode('ERR_SYS_CALL', /EINVAL/));
  assert.throws(() => tryMapMemory(0), /positive/);
});

test('mapping: huge pages come, or are ENOMEM and never something else', () => {
  const huge = tryMapMemory(2 * MIB, { isHuge: true });
  if (typeof huge === 'number') {
    assert.equal(errnoName(-huge), 'ENOMEM');
    return;
  }
  assert.equal(huge.addr % (2 * MIB), 0);
  unmapMemory(huge);
});

test('mapping: advice for huge pages gives an answer and keeps the bytes', () => {
  const mapping = mapMemory(4 * MIB);
  const bytes = new Uint8Array(viewMapping(mapping));
  bytes[2 * MIB] = 3;
  assert.equal(typeof adviseHugePages(mapping), 'boolean');
  assert.equal(bytes[2 * MIB], 3);
  unmapMemory(mapping);
  assert.equal(adviseHugePages({ addr: 4097, bytes: 4096 }), false);
});
