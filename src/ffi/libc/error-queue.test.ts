import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  closeLoopbackPair,
  type LoopbackPair,
  openLoopbackPair,
} from '../../../test/support/loopback-pair.js';
import { EAGAIN } from './errno.js';
import { isNoticeCopied, takeNotice } from './error-queue.hot.js';
import { createNoticeTable, destroyNoticeTable } from './error-queue.js';
import { closeFd } from './file-descriptor.js';
import { mapMemory, unmapMemory } from './mapping.js';
import { MSG_ZEROCOPY, receiveInto, sendVector, setIov } from './message.hot.js';
import { createIovTable, destroyIovTable } from './message.js';
import { SO_ZEROCOPY, SOL_SOCKET, setSocketNumber } from './socket.js';

const SEND_BYTES = 65_536;

function withSockets(host: string, play: (pair: LoopbackPair, send: () => number) => void): void {
  const pair = openLoopbackPair(host);
  setSocketNumber(pair.clientFd, SOL_SOCKET, SO_ZEROCOPY, 1);
  const mapping = mapMemory(SEND_BYTES);
  const table = createIovTable();
  setIov(table, 0, mapping.addr, SEND_BYTES);
  play(pair, () => sendVector(pair.clientFd, table, 0, 1, MSG_ZEROCOPY));
  closeLoopbackPair(pair);
  destroyIovTable(table);
  unmapMemory(mapping);
}

/** Calls reported on until nothing is left, by what the report says. */
function takeAll(fd: number): { copied: number; sentInPlace: number; last: number } {
  const table = createNoticeTable();
  const found = { copied: 0, sentInPlace: 0, last: 0 };
  for (;;) {
    found.last = takeNotice(fd, table);
    if (found.last < 0) break;
    found[isNoticeCopied(table) ? 'copied' : 'sentInPlace'] += found.last;
  }
  destroyNoticeTable(table);
  return found;
}

for (const host of ['127.0.0.1', '::1']) {
  test(`error queue: the kernel reports each call, and that it copied, over ${host}`, () => {
    withSockets(host, ({ clientFd, serverFd }, send) => {
      assert.deepEqual(takeAll(clientFd), { copied: 0, sentInPlace: 0, last: -EAGAIN });
      const sink = mapMemory(SEND_BYTES);
      for (let call = 0; call < 5; call++) {
        assert.equal(send(), SEND_BYTES);
        let gotBytes = 0;
        while (gotBytes < SEND_BYTES) {
          const received = receiveInto(serverFd, sink.addr, SEND_BYTES);
          if (received > 0) gotBytes += received;
        }
      }
      assert.deepEqual(takeAll(clientFd), { copied: 5, sentInPlace: 0, last: -EAGAIN });
      unmapMemory(sink);
    });
  });
}

// Bytes that never left the send queue were never copied: the other answer, from the same kernel.
test('error queue: calls whose bytes were dropped unsent are reported as not copied', () => {
  const pair = openLoopbackPair();
  setSocketNumber(pair.clientFd, SOL_SOCKET, SO_ZEROCOPY, 1);
  const mapping = mapMemory(SEND_BYTES);
  const table = createIovTable();
  setIov(table, 0, mapping.addr, SEND_BYTES);
  let calls = 0;
  while (sendVector(pair.clientFd, table, 0, 1, MSG_ZEROCOPY) > 0) calls++;
  closeFd(pair.serverFd); // with bytes unread: a reset
  const found = takeAll(pair.clientFd);
  assert.equal(found.copied + found.sentInPlace, calls);
  assert.ok(found.sentInPlace > 0, `${found.sentInPlace} of ${calls} not copied`);
  closeFd(pair.clientFd);
  destroyIovTable(table);
  unmapMemory(mapping);
});
