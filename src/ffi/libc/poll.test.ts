import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clearPipe, closeFd, createPipe, writeByte } from './file-descriptor.js';
import { waitReadable, waitWritable } from './poll.js';

test('poll: waits for its time and no longer, and says when something is there', () => {
  const { readFd, writeFd } = createPipe();
  const startMs = performance.now();
  assert.equal(waitReadable([readFd], 2.5), 0);
  assert.ok(performance.now() - startMs >= 2.4);
  writeByte(writeFd);
  assert.equal(waitReadable([readFd], 50), 1);
  assert.equal(waitReadable([readFd], 50), 1, 'until it is taken');
  clearPipe(readFd);
  assert.equal(waitReadable([readFd], 0), 0);
  const other = createPipe();
  writeByte(other.writeFd);
  assert.equal(waitReadable([readFd, other.readFd], 50), 1, 'any of them');
  closeFd(other.readFd);
  closeFd(other.writeFd);
  assert.equal(waitWritable(writeFd, 50), 1);
  while (writeByte(writeFd) === 1);
  assert.equal(waitWritable(writeFd, 1), 0, 'a full pipe takes nothing');
  closeFd(readFd);
  closeFd(writeFd);
});
