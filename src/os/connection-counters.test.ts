import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closeLoopbackPair, openLoopbackPair } from '../../test/support/loopback-pair.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { sendVector, setIov } from '../ffi/libc/message.hot.js';
import { createIovTable } from '../ffi/libc/message.js';
import { identifySocket, readConnection } from './connection-counters.js';

test('connection counters: what was sent is counted, and a round trip was seen', () => {
  const pair = openLoopbackPair();
  const table = createIovTable();
  setIov(table, 0, table.headerAddr, 1000);
  assert.equal(sendVector(pair.clientFd, table, 0, 1, 0), 1000);
  const sender = readConnection(identifySocket(pair.clientFd));
  const receiver = readConnection(identifySocket(pair.serverFd));
  assert.equal(receiver?.bytesReceived, 1000);
  assert.ok(sender !== undefined && sender.congestionWindow > 0 && sender.rttUs > 0);
  assert.ok(sender.retransmits >= 0 && sender.busyUs >= 0);
  closeLoopbackPair(pair);
});

test('connection counters: a descriptor that was closed, or is another’s now, has none', () => {
  const first = openLoopbackPair();
  const socket = identifySocket(first.clientFd);
  closeFd(first.clientFd);
  assert.equal(readConnection(socket), undefined);
  // The kernel hands out the lowest number again.
  const second = openLoopbackPair();
  const isReused = [second.clientFd, second.serverFd].includes(socket.fd);
  assert.equal(readConnection(socket), undefined, isReused ? 'another socket' : 'closed');
  closeFd(first.serverFd);
  closeLoopbackPair(second);
});
