import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../../test/support/expect-error.js';
import { closeLoopbackPair, openLoopbackPair } from '../../../test/support/loopback-pair.js';
import {
  addToEpoll,
  changeInEpoll,
  closeEpoll,
  createEpoll,
  EPOLLET,
  EPOLLHUP,
  EPOLLIN,
  EPOLLOUT,
  EPOLLRDHUP,
  epollEventBits,
  epollEventTag,
  FFI_WAIT_MS_MAX,
  removeFromEpoll,
  waitEpoll,
} from './epoll.js';
import { EBADF } from './errno.js';
import { clearEventFd, closeFd, createEventFd, ringEventFd } from './file-descriptor.js';
import { shutdownSocket } from './socket.js';

test('epoll: level-triggered tells again until the reason is gone, with its tag', () => {
  const epoll = createEpoll();
  const bell = createEventFd();
  addToEpoll(epoll, bell, EPOLLIN, 0xfffffffe);
  assert.equal(waitEpoll(epoll, 0), 0);
  ringEventFd(bell);
  for (let round = 0; round < 2; round++) {
    assert.equal(waitEpoll(epoll, 0), 1);
    assert.equal(epollEventTag(epoll, 0), 0xfffffffe);
    assert.equal(epollEventBits(epoll, 0), EPOLLIN);
  }
  clearEventFd(bell);
  assert.equal(waitEpoll(epoll, 0), 0);
  closeFd(bell);
  closeEpoll(epoll);
});

test('epoll: edge-triggered tells once for each ring', () => {
  const epoll = createEpoll();
  const bell = createEventFd();
  addToEpoll(epoll, bell, EPOLLIN | EPOLLET, 5);
  ringEventFd(bell);
  assert.equal(waitEpoll(epoll, 0), 1);
  assert.equal(waitEpoll(epoll, 0), 0);
  ringEventFd(bell);
  assert.equal(waitEpoll(epoll, 0), 1);
  closeFd(bell);
  closeEpoll(epoll);
});

test('epoll: several descriptors keep their tags apart', () => {
  const epoll = createEpoll();
  const bells = [11, 22, 33].map((tag) => ({ tag, fd: createEventFd() }));
  for (const { tag, fd } of bells) addToEpoll(epoll, fd, EPOLLIN, tag);
  ringEventFd(bells[0]!.fd);
  ringEventFd(bells[2]!.fd);
  const count = waitEpoll(epoll, 0);
  const tags = Array.from({ length: count }, (_, index) => epollEventTag(epoll, index));
  assert.deepEqual(tags.sort(), [11, 33]);
  for (const { fd } of bells) closeFd(fd);
  closeEpoll(epoll);
});

test('epoll: interest can be changed and taken away', () => {
  const epoll = createEpoll();
  const pair = openLoopbackPair();
  addToEpoll(epoll, pair.clientFd, EPOLLIN, 1);
  assert.equal(waitEpoll(epoll, 0), 0);
  changeInEpoll(epoll, pair.clientFd, EPOLLIN | EPOLLOUT, 2);
  assert.equal(waitEpoll(epoll, 0), 1);
  assert.equal(epollEventBits(epoll, 0), EPOLLOUT);
  assert.equal(epollEventTag(epoll, 0), 2);
  removeFromEpoll(epoll, pair.clientFd);
  assert.equal(waitEpoll(epoll, 0), 0);
  closeLoopbackPair(pair);
  closeEpoll(epoll);
});

test('epoll: the end of a stream is told as EPOLLRDHUP, of both as EPOLLHUP', () => {
  const epoll = createEpoll();
  const pair = openLoopbackPair();
  addToEpoll(epoll, pair.serverFd, EPOLLIN | EPOLLRDHUP | EPOLLET, 1);
  shutdownSocket(pair.clientFd);
  assert.equal(waitEpoll(epoll, 100), 1);
  assert.equal(epollEventBits(epoll, 0) & EPOLLRDHUP, EPOLLRDHUP);
  shutdownSocket(pair.serverFd);
  assert.equal(waitEpoll(epoll, 100), 1);
  assert.equal(epollEventBits(epoll, 0) & EPOLLHUP, EPOLLHUP);
  closeLoopbackPair(pair);
  closeEpoll(epoll);
});

test('epoll: adding twice, removing a stranger and waiting on a closed set are errors', () => {
  const epoll = createEpoll();
  const bell = createEventFd();
  addToEpoll(epoll, bell, EPOLLIN, 1);
  assert.throws(() => addToEpoll(epoll, bell, EPOLLIN, 1), withCode('ERR_SYS_CALL', /EEXIST/));
  removeFromEpoll(epoll, bell);
  assert.throws(() => removeFromEpoll(epoll, bell), withCode('ERR_SYS_CALL', /ENOENT/));
  assert.throws(() => addToEpoll(epoll, -1, EPOLLIN, 1), withCode('ERR_SYS_CALL', /EBADF/));
  closeFd(bell);
  closeEpoll(epoll);
  assert.equal(waitEpoll({ ...epoll, fd: -1 }, 0), -EBADF);
});

test('epoll: no wait exceeds the limit, whatever is asked for', () => {
  const epoll = createEpoll();
  const startMs = performance.now();
  assert.equal(waitEpoll(epoll, 60_000), 0);
  const tookMs = performance.now() - startMs;
  assert.ok(tookMs >= FFI_WAIT_MS_MAX - 5 && tookMs < 2000, `${tookMs} ms`);
  closeEpoll(epoll);
});
