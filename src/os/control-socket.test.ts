import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { acceptSocket, listenOn, localAddress } from '../ffi/libc/socket.js';
import { ControlSet } from './control-set.js';
import { ControlSocket } from './control-socket.js';
import { dial } from './dial.js';

const TUNING = { bufferBytes: 0, userTimeoutMs: 0, isZeroCopy: false };
const HEAD_BYTES = 4;

/** Two ends in one set; what the second reads are frames of four bytes and as many as they say. */
async function openPair() {
  const set = new ControlSet(8);
  const listenFd = listenOn({ host: '127.0.0.1', port: 0 }, 4);
  const pump = setInterval(() => set.poll(), 1);
  const usual = { nic: '', congestion: '', tuning: TUNING, timeoutMs: 1000 };
  const fd = await dial(set, { address: localAddress(listenFd), ...usual });
  clearInterval(pump);
  let due = HEAD_BYTES;
  let body = 0;
  const pieces: number[] = [];
  const reading = new ControlSocket(set, acceptSocket(listenFd), {
    bytesWanted: () => due,
    isAmidFrame: () => body > 0,
    onBytes: (bytes) => {
      pieces.push(bytes.length);
      body = body === 0 ? (bytes[0] ?? 0) : 0;
      due = body === 0 ? HEAD_BYTES : body;
    },
    onClosed: () => undefined,
  });
  const writing = new ControlSocket(set, fd, {
    bytesWanted: () => HEAD_BYTES,
    isAmidFrame: () => false,
    onBytes: () => undefined,
    onClosed: () => undefined,
  });
  const close = (): void => {
    reading.close();
    writing.close();
    closeFd(listenFd);
    set.close();
  };
  return { set, reading, writing, pieces, close };
}

test('control socket: what comes while nobody reads is told once and read later', async () => {
  const { set, reading, writing, pieces, close } = await openPair();
  writing.send(Uint8Array.of(3, 0, 0, 0, 1, 2, 3));
  while (set.poll() === 0);
  assert.equal(set.poll(), 0, 'it lies in the kernel, and the set is quiet');
  assert.deepEqual(pieces, []);
  reading.setReading(true);
  assert.equal(set.poll(), 1, 'head and body at one look');
  assert.deepEqual(pieces, [4, 3]);
  close();
});

test('control socket: one that stops for a moment needs no word to the set', async () => {
  const { set, reading, writing, pieces, close } = await openPair();
  reading.setReading(true);
  for (let round = 1; round <= 3; round++) {
    writing.send(Uint8Array.of(1, 0, 0, 0, 9));
    while (set.poll() === 0);
    assert.equal(pieces.length, 2 * round);
    reading.setReading(false);
    reading.setReading(true);
  }
  close();
});
