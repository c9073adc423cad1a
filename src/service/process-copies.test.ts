import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSocketPair } from '../ffi/libc/descriptor-passing.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { mapMemory, unmapMemory, viewMapping } from '../ffi/libc/mapping.js';
import { COPY_DONE, COPY_PENDING } from '../gpu/staging-device.js';
import { ProcessStaging } from './process-copies.js';

const SHAPE = { slotBytes: 4096, slotCount: 1, blocksMax: 1 };

test('process copies: a number that was given to another process is not touched', () => {
  // Readable when the client has ended, as its pidfd is; the number is of a process that lives.
  const { ownFd: pidfd, otherFd } = createSocketPair();
  const staging = new ProcessStaging({ pid: process.pid, pidfd }, SHAPE);
  const memory = mapMemory(4096);
  const bytes = new Uint8Array(viewMapping(memory));
  const copyIn = (): number => {
    const batch = staging.into.begin();
    staging.into.add(memory.addr, 0, 4096);
    staging.into.start();
    return staging.into.poll(batch);
  };
  try {
    bytes.fill(7);
    assert.equal(copyIn(), COPY_DONE);
    assert.ok(
      bytes.every((byte) => byte === 0),
      'the staging memory is empty, and was copied',
    );
    bytes.fill(7);
    closeFd(otherFd);
    assert.equal(copyIn(), COPY_PENDING, 'its session ends it');
    assert.ok(bytes.every((byte) => byte === 7));
  } finally {
    staging.close();
    unmapMemory(memory);
    closeFd(pidfd);
  }
});
