// One end of a ring whose other end is a word: what is waited for, and for how long.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createFixedMemory, destroyFixedMemory } from '../../../os/fixed-memory.js';
import { directionOf, HEADER_BYTES, SHM_BYTES, TAIL, WRITER_SLEEPS } from './shm-layout.js';
import { moveBytes } from './shm-ring.hot.js';
import { type Bell, RingEnd } from './shm-ring.js';
import { moveVector } from './shm-vector.hot.js';
import { ShmVector } from './shm-vector.js';

const PIECE = 32 * 1024;
/** Far more than a test takes: whoever waits for nobody hangs. */
const LOOKS_WITHOUT_END = 2 ** 40;
const { word } = directionOf('server', false);
const noBell = { ring: () => undefined };

const WRITER = `
  const { words, at, position } = require('node:worker_threads').workerData;
  Atomics.store(words, at, position);
`;

function openReader(t: TestContext, looksMax: number, bell: Bell = noBell) {
  const memory = createFixedMemory(SHM_BYTES);
  const target = createFixedMemory(4 * PIECE);
  t.after(() => {
    destroyFixedMemory(memory);
    destroyFixedMemory(target);
  });
  const words = new Int32Array(new SharedArrayBuffer(HEADER_BYTES));
  const shared = { addr: memory.addr, int32: words };
  const ring = new RingEnd(shared, 'server', false, bell, looksMax, true);
  return { ring, words, target };
}

function writeLater(t: TestContext, words: Int32Array, position: number): void {
  const workerData = { words, at: word + TAIL, position };
  const worker = new Worker(WRITER, { eval: true, workerData });
  t.after(() => worker.terminate());
}

test('shm ring: the piece that a peer is copying is waited for', (t) => {
  const { ring, words, target } = openReader(t, LOOKS_WITHOUT_END);
  words[word + TAIL] = PIECE;
  writeLater(t, words, 2 * PIECE);
  assert.equal(moveBytes(ring, target.addr, 2 * PIECE, true), 2 * PIECE);
});

test('shm ring: a peer that stops in the middle costs some looks, no more', (t) => {
  const { ring, words, target } = openReader(t, 2000);
  words[word + TAIL] = PIECE;
  assert.equal(moveBytes(ring, target.addr, 2 * PIECE, true), PIECE);
});

test('shm ring: a peer that moves a byte at a time holds nobody up', (t) => {
  const looks = 100;
  // Told of every byte that was taken, it sends the next, and sleeps again.
  const bell = {
    ring: () => {
      words[word + TAIL]!++;
      words[word + WRITER_SLEEPS] = 1;
    },
  };
  const { ring, words, target } = openReader(t, looks, bell);
  words[word + TAIL] = PIECE;
  words[word + WRITER_SLEEPS] = 1;
  const moved = moveBytes(ring, target.addr, 4 * PIECE, true);
  assert.ok(moved > PIECE && moved <= PIECE + looks, `${moved} bytes`);
});

test('shm ring: nonsense that comes while it is waited for breaks the channel', (t) => {
  const { ring, words, target } = openReader(t, LOOKS_WITHOUT_END);
  words[word + TAIL] = PIECE;
  writeLater(t, words, -1);
  assert.ok(moveBytes(ring, target.addr, 2 * PIECE, true) < 0);
});

test('shm ring: nobody waits for a peer that has moved nothing, or less than a piece', (t) => {
  const { ring, words, target } = openReader(t, LOOKS_WITHOUT_END);
  assert.equal(moveBytes(ring, target.addr, PIECE, true), 0);
  words[word + TAIL] = PIECE - 1;
  assert.equal(moveBytes(ring, target.addr, 2 * PIECE, true), PIECE - 1);
});

test('shm ring: a reader does not wait for the last entry, which may not come', (t) => {
  const { ring, words, target } = openReader(t, LOOKS_WITHOUT_END);
  const vector = new ShmVector();
  vector.addr.set([target.addr, target.addr + PIECE]);
  vector.bytes.set([PIECE, 2 * PIECE]);
  words[word + TAIL] = 2 * PIECE;
  assert.equal(moveVector(ring, vector, 0, 2), 2 * PIECE);
  assert.ok(vector.isShort);
});

const KIB = 1024;
const MIB = 1024 * KIB;
/** As much as is moved at once. */
const STEP = 256 * KIB;

/** A ring that counts what goes past the cache, and a peer that has always taken, or sent, all. */
function openBusyRing(t: TestContext, isWriter: boolean) {
  const memory = createFixedMemory(SHM_BYTES);
  const words = new Int32Array(new SharedArrayBuffer(HEADER_BYTES));
  const shared = { addr: memory.addr, int32: words };
  const ring = new RingEnd(shared, 'server', isWriter, noBell, 100, true);
  const own = createFixedMemory(64 * MIB, { isReserveOnly: true });
  t.after(() => [memory, own].forEach(destroyFixedMemory));
  const seen = { pastCache: 0 };
  const { copyPastCache } = ring;
  Object.assign(ring, {
    copyPastCache: (target: number, source: number, bytes: number) => {
      seen.pastCache += bytes;
      copyPastCache(target, source, bytes);
    },
  });
  const move = (at: number, bytes: number, isExpected = true): number => {
    words[ring.peerWord] = isWriter ? ring.position : (ring.position + bytes) | 0;
    seen.pastCache = 0;
    assert.equal(moveBytes(ring, own.addr + at, bytes, isExpected), bytes);
    return seen.pastCache;
  };
  return { ring, move };
}

test('shm ring: a writer goes past its cache where it is told to', (t) => {
  const { ring, move } = openBusyRing(t, true);
  assert.equal(move(0, STEP), 0);
  ring.isPastCache = true;
  assert.equal(move(0, STEP), STEP);
  // Heads and tables.
  assert.equal(move(0, 4095), 0);
});

test('shm ring: what lands further and further on goes past the reader’s cache', (t) => {
  const { ring, move } = openBusyRing(t, false);
  ring.isPastCache = true;
  let at = 0;
  for (; at < 2 * MIB; at += STEP) assert.equal(move(at, STEP), 0, `${at}`);
  assert.equal(move(at, STEP), STEP);
  // Heads behind a payload are neither in the way nor meant.
  assert.equal(move(60 * MIB, STEP, false), 0);
  assert.equal(move(at + 2 * STEP, STEP), STEP);
  assert.equal(move(at + 3 * STEP, 4095), 0);
  // Where it is summed up next.
  ring.isPastCache = false;
  assert.equal(move(at + 4 * STEP, STEP), 0);
});

test('shm ring: a step back, or far away, is through the cache until it has gone on again', (t) => {
  const { ring, move } = openBusyRing(t, false);
  ring.isPastCache = true;
  for (const [from, to] of [
    [2 * MIB, 0],
    [0, 40 * MIB],
  ] as const) {
    for (let at = from; at < from + 2 * MIB; at += STEP) move(at, STEP);
    assert.equal(move(from + 2 * MIB, STEP), STEP);
    assert.equal(move(to, STEP), 0, `to ${to}`);
  }
});

test('shm ring: 1 MiB that lands in one place again and again stays in the cache', (t) => {
  const { ring, move } = openBusyRing(t, false);
  ring.isPastCache = true;
  for (let round = 0; round < 20; round++) {
    for (let at = 0; at < MIB; at += STEP) assert.equal(move(at, STEP), 0);
  }
});
