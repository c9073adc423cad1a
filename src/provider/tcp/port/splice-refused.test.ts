// A kernel that takes pages into the pipe and then does not send them: what was in the pipe goes by
// copy, in its place in the stream, and so does everything after it.

import assert from 'node:assert/strict';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openLoopbackPair } from '../../../../test/support/loopback-pair.js';
import { fillPattern, findMismatch } from '../../../base/pattern.js';
import { ZERO_COPY_COUNTERS } from '../../../base/shared-layout.js';
import { closeFd, createPipe, growPipe } from '../../../ffi/libc/file-descriptor.js';
import { receiveInto, setIov, shortenIov } from '../../../ffi/libc/message.hot.js';
import { createIovTable, destroyIovTable } from '../../../ffi/libc/message.js';
import { SO_SNDBUF, SOL_SOCKET, setSocketNumber } from '../../../ffi/libc/socket.js';
import { createFixedMemory, destroyFixedMemory } from '../../../os/fixed-memory.js';
import { sendSpliced } from './splice-send.hot.js';
import { SpliceState } from './splice-state.js';
import { WOULD_BLOCK } from './stream-port.js';
import { TcpPort } from './tcp-port.js';

const ENTRY_BYTES = 150_000;
const ENTRIES = 6;
const TOTAL_BYTES = ENTRIES * ENTRY_BYTES;

/** Sends all; the pipe turns into no pipe (EINVAL) once so many bytes have gone. */
function sendAll(sendBufferBytes: number, brokenAtBytes: number) {
  const pair = openLoopbackPair();
  if (sendBufferBytes > 0) setSocketNumber(pair.clientFd, SOL_SOCKET, SO_SNDBUF, sendBufferBytes);
  const source = createFixedMemory(TOTAL_BYTES);
  const target = createFixedMemory(TOTAL_BYTES);
  fillPattern(source.uint8, 3);
  const table = createIovTable();
  for (let entry = 0; entry < ENTRIES; entry++) {
    setIov(table, entry, source.addr + entry * ENTRY_BYTES, ENTRY_BYTES);
  }
  const pipe = createPipe();
  growPipe(pipe.writeFd, 1024 * 1024);
  const counters = new Float64Array(ZERO_COPY_COUNTERS);
  const state = new SpliceState(pair.clientFd, table, counters, pipe);
  let [first, sentBytes, gotBytes, heldBytes, isBroken] = [0, 0, 0, 0, false];
  while (gotBytes < TOTAL_BYTES) {
    if (!isBroken && sentBytes >= brokenAtBytes) {
      isBroken = true;
      heldBytes = state.pipeBytes;
      Object.assign(state, { readFd: openSync('/dev/null', 'r') });
    }
    const sent = first < ENTRIES ? sendSpliced(state, first, ENTRIES) : WOULD_BLOCK;
    if (sent > 0) {
      sentBytes += sent;
      first = shortenIov(table, first, sent);
    } else assert.equal(sent, WOULD_BLOCK);
    const got = receiveInto(pair.serverFd, target.addr + gotBytes, TOTAL_BYTES - gotBytes);
    if (got > 0) gotBytes += got;
  }
  const mismatch = findMismatch(target.uint8.subarray(0, TOTAL_BYTES), 3);
  const { isRefused, pipeBytes } = state;
  state.close();
  closeFd(pipe.readFd);
  closeFd(pair.clientFd);
  closeFd(pair.serverFd);
  destroyIovTable(table);
  for (const memory of [source, target]) destroyFixedMemory(memory);
  return { mismatch, counters: [...counters], isRefused, pipeBytes, heldBytes, sentBytes };
}

test('splice: refused at the first run, everything is copied and counted as a fallback', () => {
  const seen = sendAll(0, 0);
  assert.equal(seen.mismatch, -1);
  assert.deepEqual(seen.counters, [0, 0, 0, 1]);
  assert.ok(seen.isRefused && seen.pipeBytes === 0);
  assert.equal(seen.sentBytes, TOTAL_BYTES);
});

test('splice: refused with bytes left in the pipe, they are sent once and in order', () => {
  const seen = sendAll(16_384, 200_000);
  assert.ok(seen.heldBytes > 0, 'the pipe held a part of a run');
  assert.equal(seen.mismatch, -1);
  assert.equal(seen.sentBytes, TOTAL_BYTES);
  const [sends, zeroCopied, copied, fallbacks] = seen.counters;
  assert.deepEqual([zeroCopied, copied, fallbacks], [sends, 0, 1]);
  assert.ok(seen.isRefused);
});

test('splice: a port that was refused refers to nothing any more', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'splice-'));
  t.after(() => rmSync(folder, { recursive: true }));
  // The kernel splices into no file that is open for appending.
  const fd = openSync(join(folder, 'appended'), 'a');
  const counters = new Float64Array(ZERO_COPY_COUNTERS);
  const port = new TcpPort(fd, 'splice', counters, 1);
  assert.ok(port.isByReference);
  const source = createFixedMemory(ENTRY_BYTES);
  port.setSend(0, source.addr, ENTRY_BYTES);
  assert.ok(port.send(0, 1, true) < 0, 'a file takes no message either');
  assert.deepEqual([...counters], [0, 0, 0, 1]);
  assert.equal(port.isByReference, false);
  closeFd(fd);
  destroyFixedMemory(source);
});
