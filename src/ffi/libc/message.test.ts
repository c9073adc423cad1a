import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closeLoopbackPair, openLoopbackPair } from '../../../test/support/loopback-pair.js';
import { fillPattern, findMismatch } from '../../base/pattern.js';
import { type Random, seededRandom } from '../../base/random.js';
import { EAGAIN, EBADF, errnoName } from './errno.js';
import { mapMemory, viewMapping } from './mapping.js';
import { receiveVector, sendVector, setIov, shortenIov } from './message.hot.js';
import { createIovTable, destroyIovTable, IOV_ENTRIES_MAX } from './message.js';
import { IPPROTO_TCP, SO_SNDBUF, SOL_SOCKET, setSocketNumber, TCP_NODELAY } from './socket.js';

function mapped(bytes: number) {
  const mapping = mapMemory(bytes);
  return { addr: mapping.addr, uint8: new Uint8Array(viewMapping(mapping)) };
}

test('vector: an empty socket is EAGAIN, a closed one EBADF, bad memory EFAULT', () => {
  const pair = openLoopbackPair();
  const table = createIovTable();
  setIov(table, 0, table.headerAddr, 8);
  assert.equal(receiveVector(pair.clientFd, table, 0, 1), -EAGAIN);
  assert.equal(sendVector(-1, table, 0, 1, 0), -EBADF);
  setIov(table, 0, 4096, 8); // nothing is mapped there
  assert.equal(errnoName(-sendVector(pair.clientFd, table, 0, 1, 0)), 'EFAULT');
  closeLoopbackPair(pair);
  destroyIovTable(table);
});

test('vector: more entries than the kernel takes is EMSGSIZE', () => {
  const pair = openLoopbackPair();
  const table = createIovTable();
  for (let index = 0; index < IOV_ENTRIES_MAX; index++) setIov(table, index, table.headerAddr, 1);
  assert.equal(sendVector(pair.clientFd, table, 0, IOV_ENTRIES_MAX, 0), IOV_ENTRIES_MAX);
  assert.equal(errnoName(-sendVector(pair.clientFd, table, 0, IOV_ENTRIES_MAX + 1, 0)), 'EMSGSIZE');
  closeLoopbackPair(pair);
  destroyIovTable(table);
});

test('vector: shortening passes whole entries and cuts the one in the middle', () => {
  const table = createIovTable();
  const high = 5 * 2 ** 32 + 100;
  setIov(table, 0, high, 10);
  setIov(table, 1, high + 50, 20);
  setIov(table, 2, high + 90, 30);
  assert.equal(shortenIov(table, 0, 10), 1);
  assert.equal(shortenIov(table, 1, 0), 1);
  assert.equal(shortenIov(table, 1, 25), 2);
  const word = 16 + 2 * 4;
  assert.deepEqual([...table.words.slice(word, word + 4)], [195, 5, 25, 0]);
  assert.equal(shortenIov(table, 2, 25), 3);
  destroyIovTable(table);
});

// A small send buffer and odd entries on both ends: every send is partial, every receive too.
test('vector: scattered bytes arrive in order through partial sends and receives', () => {
  const pair = openLoopbackPair();
  setSocketNumber(pair.clientFd, SOL_SOCKET, SO_SNDBUF, 4096);
  setSocketNumber(pair.clientFd, IPPROTO_TCP, TCP_NODELAY, 1);
  const random = seededRandom(7);
  const totalBytes = 600_000;
  const source = mapped(1 << 20);
  const target = mapped(1 << 20);
  fillPattern(source.uint8.subarray(0, totalBytes), 3);
  const sending = createIovTable();
  const count = cutIntoEntries(sending, source.addr, totalBytes, random);
  const receiving = createIovTable();
  let first = 0;
  let sentBytes = 0;
  let gotBytes = 0;
  let partial = 0;
  while (gotBytes < totalBytes) {
    if (sentBytes < totalBytes) {
      const sent = sendVector(pair.clientFd, sending, first, count - first, 0);
      if (sent > 0) {
        first = shortenIov(sending, first, sent);
        sentBytes += sent;
        if (sentBytes < totalBytes) partial++;
      } else assert.equal(sent, -EAGAIN);
    }
    const head = random.nextBetween(1, 7);
    setIov(receiving, 0, target.addr + gotBytes, head);
    setIov(receiving, 1, target.addr + gotBytes + head, random.nextBetween(1, 9000));
    const received = receiveVector(pair.serverFd, receiving, 0, 2);
    if (received > 0) gotBytes += received;
    else assert.equal(received, -EAGAIN);
  }
  assert.equal(gotBytes, totalBytes);
  assert.equal(first, count);
  assert.ok(partial > 2, `${partial} partial sends`);
  assert.equal(findMismatch(target.uint8.subarray(0, totalBytes), 3), -1);
  assert.ok(target.uint8.subarray(totalBytes, totalBytes + 9000).every((byte) => byte === 0));
  closeLoopbackPair(pair);
});

function cutIntoEntries(
  table: ReturnType<typeof createIovTable>,
  addr: number,
  totalBytes: number,
  random: Random,
): number {
  let at = 0;
  let count = 0;
  while (at < totalBytes) {
    const left = totalBytes - at;
    const bytes = count === 999 ? left : Math.min(left, random.nextBetween(1, 3000));
    setIov(table, count++, addr + at, bytes);
    at += bytes;
  }
  return count;
}
