import assert from 'node:assert/strict';
import { closeSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { isTcpxError } from '../../base/errors.js';
import {
  closeSocketPair,
  createSocketPair,
  receiveDescriptor,
  sendDescriptor,
} from './descriptor-passing.js';
import { createMemoryFile, mapMemory, unmapMemory, viewMapping } from './mapping.js';

test('descriptors: arrive in order, as copies that outlive the sent one', () => {
  const pair = createSocketPair();
  const files = [1, 2, 3].map((value) => {
    const fd = createMemoryFile(`passed-${value}`, 4096);
    const mapping = mapMemory(4096, { fd });
    new Uint8Array(viewMapping(mapping))[0] = value;
    unmapMemory(mapping);
    return fd;
  });
  for (const fd of files) {
    sendDescriptor(pair.ownFd, fd);
    closeSync(fd);
  }
  for (const value of [1, 2, 3]) {
    const fd = receiveDescriptor(pair.otherFd);
    assert.equal(readFileSync(`/proc/self/fd/${fd}`)[0], value);
    closeSync(fd);
  }
  closeSocketPair(pair);
});

test('descriptors: nothing sent is an error, not a wait', () => {
  const pair = createSocketPair();
  assert.throws(
    () => receiveDescriptor(pair.otherFd),
    (error: unknown) => isTcpxError(error, 'ERR_SYS_CALL'),
  );
  closeSocketPair(pair);
});
