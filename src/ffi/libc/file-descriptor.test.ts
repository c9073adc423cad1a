import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EAGAIN, EBADF } from './errno.js';
import {
  clearEventFd,
  closeFd,
  createEventFd,
  createPipe,
  readFd,
  ringEventFd,
  writeByte,
  writeFd,
} from './file-descriptor.js';
import { scratchAddr, scratchBytes } from './scratch.js';

test('descriptor: closing twice is EBADF', () => {
  const fd = createEventFd();
  assert.equal(closeFd(fd), 0);
  assert.equal(closeFd(fd), -EBADF);
});

test('doorbell: any number of rings is cleared at once; without one it is EAGAIN', () => {
  const fd = createEventFd();
  for (let count = 0; count < 3; count++) assert.equal(ringEventFd(fd), 0);
  assert.equal(clearEventFd(fd), 0);
  assert.equal(clearEventFd(fd), -EAGAIN);
  closeFd(fd);
  assert.equal(ringEventFd(fd), -EBADF);
});

test('pipe: a byte goes through; empty and full are EAGAIN', () => {
  const pipe = createPipe();
  assert.equal(readFd(pipe.readFd, scratchAddr + 4096, 1), -EAGAIN);
  assert.equal(writeByte(pipe.writeFd), 1);
  assert.equal(readFd(pipe.readFd, scratchAddr + 4096, 16), 1);
  assert.equal(scratchBytes[4096], 1);
  let total = 0;
  for (;;) {
    const written = writeFd(pipe.writeFd, scratchAddr, 32 * 1024);
    if (written < 0) {
      assert.equal(written, -EAGAIN);
      break;
    }
    total += written;
  }
  assert.ok(total >= 4096);
  assert.equal(writeByte(pipe.writeFd), -EAGAIN);
  closeFd(pipe.readFd);
  closeFd(pipe.writeFd);
});
