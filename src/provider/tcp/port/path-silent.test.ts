// Whether the peer's kernel answers, as the real one says: a peer that does not read is not silent.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLoopbackPair } from '../../../../test/support/loopback-pair.js';
import { sleepMs } from '../../../base/clock.js';
import { ZERO_COPY_COUNTERS } from '../../../base/shared-layout.js';
import { SO_RCVBUF, SO_SNDBUF, SOL_SOCKET, setSocketNumber } from '../../../ffi/libc/socket.js';
import { deafenSocket } from '../../../ffi/libc/socket-accident.js';
import { createFixedMemory, destroyFixedMemory } from '../../../os/fixed-memory.js';
import { TcpPort } from './tcp-port.js';

const BYTES = 1024 * 1024;
const BUFFER_BYTES = 16_384;

function open() {
  const { clientFd, serverFd } = openLoopbackPair();
  // Both bounded and fixed, so that what is owed soon exceeds them and stays owed.
  setSocketNumber(clientFd, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES);
  setSocketNumber(serverFd, SOL_SOCKET, SO_RCVBUF, 4 * BUFFER_BYTES);
  const ports = [clientFd, serverFd].map(
    (fd) => new TcpPort(fd, 'copy', new Float64Array(ZERO_COPY_COUNTERS), 1),
  );
  const memory = createFixedMemory(BYTES);
  const [sender] = ports;
  if (sender === undefined) throw new Error('no port');
  sender.setSend(0, memory.addr, BYTES);
  const close = (): void => {
    for (const port of ports) port.close(true);
    destroyFixedMemory(memory);
  };
  return { sender, clientFd, serverFd, close };
}

/** Sends until the peer's kernel takes no more: what it answers late leaves room once again. */
async function fill(sender: TcpPort): Promise<void> {
  for (let stillMs = 0; stillMs < 100; stillMs += 10) {
    while (sender.send(0, 1, false) > 0) stillMs = 0;
    await sleepMs(10);
  }
}

test('path: a peer that does not read is not silent, whatever its kernel skips', async () => {
  const { sender, close } = open();
  await fill(sender);
  const endMs = performance.now() + 1600;
  let seen = 0;
  for (; performance.now() < endMs; seen++) {
    assert.ok(sender.queuedBytes() > 0, 'something is owed');
    assert.ok(!sender.isPathSilent(), `after ${1600 - (endMs - performance.now())} ms`);
    await sleepMs(20);
  }
  assert.ok(seen > 20);
  close();
});

test('path: one on which nothing is answered is silent soon', async () => {
  const { sender, clientFd, serverFd, close } = open();
  for (const fd of [clientFd, serverFd]) deafenSocket(fd);
  sender.send(0, 1, false);
  const endMs = performance.now() + 1000;
  while (!sender.isPathSilent()) {
    assert.ok(performance.now() < endMs, 'not within a second');
    await sleepMs(20);
  }
  close();
});
