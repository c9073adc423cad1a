// Two shared-memory ports of one process, joined by a loopback socket: bytes of every size and
// vector, sleep and doorbell, the peer's end, and a peer that writes nonsense into the words.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { openLoopbackPair } from '../../../../test/support/loopback-pair.js';
import { fillPattern, findMismatch } from '../../../base/pattern.js';
import { seededRandom } from '../../../base/random.js';
import { receiveInto } from '../../../ffi/libc/message.hot.js';
import {
  createFixedMemory,
  destroyFixedMemory,
  type FixedMemory,
  openFixedMemory,
} from '../../../os/fixed-memory.js';
import { WOULD_BLOCK } from '../port/stream-port.js';
import { ShmMailbox, shareMemory } from './shm-handover.js';
import {
  directionOf,
  HEAD,
  HEADER_BYTES,
  PROOF_WORD,
  READER_SLEEPS,
  RING_BYTES,
  TAIL,
} from './shm-layout.js';
import type { ShmLink } from './shm-link.js';
import { ShmPort } from './shm-port.js';
import { EPROTO } from './shm-ring.hot.js';

const EAGAIN = 11;

/** Two mappings of the same memory; `shown`: the proof that the client will write into it. */
function openLinks(shown?: Uint8Array): { serverLink: ShmLink; clientLink: ShmLink } {
  const [nonce, answer, proof] = [randomBytes(32), randomBytes(32), randomBytes(32)];
  const mailbox = new ShmMailbox(nonce, answer);
  const serverLink = shareMemory(nonce, answer, proof);
  const clientLink = mailbox.take(shown ?? proof);
  mailbox.close();
  assert.ok(typeof serverLink !== 'string' && clientLink !== undefined);
  return { serverLink, clientLink };
}

function openPair(t: TestContext, shown?: Uint8Array) {
  const { serverLink, clientLink } = openLinks(shown);
  const { clientFd, serverFd } = openLoopbackPair();
  const header = openFixedMemory(clientLink.addr, HEADER_BYTES);
  const server = new ShmPort(serverFd, serverLink);
  const client = new ShmPort(clientFd, clientLink);
  const open = new Set([client, server]);
  const close = (port: ShmPort): void => {
    if (open.delete(port)) port.close();
  };
  t.after(() => [...open].forEach(close));
  return { client, server, words: header.int32, close, proof: serverLink.proof };
}

function memory(t: TestContext, bytes: number): FixedMemory {
  const made = createFixedMemory(bytes);
  t.after(() => destroyFixedMemory(made));
  return made;
}

function sendOne(port: ShmPort, at: FixedMemory, bytes: number): number {
  port.setSend(0, at.addr, bytes);
  return port.send(0, 1, true);
}

function receiveOne(port: ShmPort, at: FixedMemory, bytes: number): number {
  port.setReceive(0, at.addr, bytes);
  return port.receive(1);
}

/** Sends all of `source` in vectors of random entries, receives in others, checks every byte. */
function pump(from: ShmPort, to: ShmPort, source: FixedMemory, target: FixedMemory, seed: number) {
  const random = seededRandom(seed);
  const total = source.bytes;
  let [sent, got, first, count] = [0, 0, 0, 0];
  while (got < total) {
    if (first === count) {
      first = 0;
      for (count = 0; count < 9 && sent < total; count++) {
        const bytes = Math.min(total - sent, random.nextBetween(1, 200_000));
        from.setSend(count, source.addr + sent, bytes);
        sent += bytes;
      }
    }
    const result = count > first ? from.send(first, count, random.nextChance(0.5)) : 0;
    if (result > 0) first = from.advanceSend(first, result);
    let entries = 0;
    for (let aimed = got; entries < 5 && aimed < total; entries++) {
      const bytes = Math.min(total - aimed, random.nextBetween(1, 300_000));
      to.setReceive(entries, target.addr + aimed, bytes);
      aimed += bytes;
    }
    const received = to.receive(entries);
    if (received > 0) got += received;
    else assert.equal(received, WOULD_BLOCK);
  }
}

test('shm port: every byte arrives in order, both ways, whatever the vectors', (t) => {
  const { client, server } = openPair(t);
  const bytes = 5 * RING_BYTES + 4096;
  const [source, target] = [memory(t, bytes), memory(t, bytes)];
  for (const seed of [1, 2, 3]) {
    fillPattern(source.uint8, seed);
    const [from, to] = seed === 2 ? [server, client] : [client, server];
    pump(from, to, source, target, seed);
    assert.equal(findMismatch(target.uint8, seed), -1);
    target.uint8.fill(0);
  }
});

test('shm port: positions wrap at 2^32', (t) => {
  const { client, server } = openPair(t);
  const piece = memory(t, RING_BYTES);
  // A little more than 4 GiB.
  for (let round = 0; round < 2 ** 32 / RING_BYTES + 100; round++) {
    if (round % 64 === 0) piece.uint8.fill(round & 255);
    assert.equal(sendOne(client, piece, RING_BYTES), RING_BYTES);
    assert.equal(receiveOne(server, piece, RING_BYTES), RING_BYTES);
  }
  fillPattern(piece.uint8, 9);
  assert.equal(sendOne(client, piece, RING_BYTES), RING_BYTES);
  piece.uint8.fill(0);
  assert.equal(receiveOne(server, piece, RING_BYTES), RING_BYTES);
  assert.equal(findMismatch(piece.uint8, 9), -1);
});

test('shm port: full and empty would block', (t) => {
  const { client, server } = openPair(t);
  const piece = memory(t, 2 * RING_BYTES);
  assert.equal(receiveOne(server, piece, 64), WOULD_BLOCK);
  assert.equal(sendOne(client, piece, 2 * RING_BYTES), RING_BYTES, 'what fits');
  assert.equal(sendOne(client, piece, 1), WOULD_BLOCK);
  assert.equal(receiveOne(server, piece, 10), 10);
  assert.equal(sendOne(client, piece, 64), 10);
});

test('shm port: only a peer that sleeps is rung, once, and not for what is there', (t) => {
  const { client, server } = openPair(t);
  const piece = memory(t, 2 * RING_BYTES);
  const bells = (port: ShmPort) => receiveInto(port.fd, piece.addr, 4096);
  assert.equal(bells(server), 1, 'the client has shown its proof');
  assert.equal(sendOne(client, piece, 64), 64);
  assert.equal(bells(server), -EAGAIN, 'nobody sleeps');
  assert.equal(server.prepareSleep(), false, 'there is something to read');
  assert.equal(receiveOne(server, piece, 64), 64);
  assert.equal(server.prepareSleep(), true);
  assert.equal(sendOne(client, piece, 64), 64);
  assert.equal(sendOne(client, piece, 64), 64);
  assert.equal(bells(server), 1, 'one bell for two sends');
  server.endSleep();
  assert.equal(sendOne(client, piece, 2 * RING_BYTES), RING_BYTES - 128);
  assert.equal(client.prepareSleep(), true, 'no room, nothing to read');
  assert.equal(receiveOne(server, piece, 4096), 4096);
  assert.equal(bells(client), -EAGAIN, 'a little room is not worth it');
  assert.equal(receiveOne(server, piece, RING_BYTES), RING_BYTES - 4096);
  assert.equal(bells(client), 1);
});

test('shm port: who got the memory without the proof is not heard, and is told nothing', (t) => {
  const { client, server, words, close } = openPair(t, randomBytes(32));
  const piece = memory(t, 4096);
  assert.equal(sendOne(client, piece, 4096), 4096);
  assert.equal(receiveOne(server, piece, 4096), WOULD_BLOCK);
  assert.equal(sendOne(server, piece, 64), WOULD_BLOCK);
  assert.equal(words[directionOf('server', true).word + TAIL], 0, 'nothing was written');
  words[directionOf('client', true).word + TAIL] = -1;
  assert.equal(server.prepareSleep(), true, 'nonsense breaks no rule: nobody is heard');
  assert.equal(receiveOne(server, piece, 4096), WOULD_BLOCK);
  close(client);
  server.onBell();
  assert.equal(receiveOne(server, piece, 4096), 0, 'its socket ends it, and nothing before that');
});

test('shm port: a proof that comes late is seen, also by a server about to sleep', (t) => {
  const { client, server, words, proof } = openPair(t, randomBytes(32));
  const piece = memory(t, 4096);
  assert.equal(sendOne(client, piece, 100), 100);
  server.onBell();
  assert.equal(receiveOne(server, piece, 4096), WOULD_BLOCK);
  assert.equal(server.prepareSleep(), true);
  server.endSleep();
  for (const [index, word] of proof.entries()) {
    assert.equal(receiveOne(server, piece, 4096), WOULD_BLOCK, `after ${index} words`);
    words[PROOF_WORD + index] = word;
  }
  assert.equal(server.prepareSleep(), false);
  assert.equal(receiveOne(server, piece, 4096), 100);
  assert.equal(sendOne(server, piece, 64), 64);
});

test('shm port: what was sent before the end is read, then the end', (t) => {
  const { client, server, close } = openPair(t);
  const piece = memory(t, 4096);
  fillPattern(piece.uint8, 4);
  assert.equal(sendOne(client, piece, 4096), 4096);
  close(client);
  piece.uint8.fill(0);
  server.onBell();
  assert.equal(receiveOne(server, piece, 4096), 4096);
  assert.equal(findMismatch(piece.uint8, 4), -1);
  server.onBell();
  assert.equal(receiveOne(server, piece, 4096), 0);
  assert.equal(receiveOne(server, piece, 4096), 0, 'and stays so');
});

test('shm port: the end is noticed without a bell too, by looking often', (t) => {
  const { client, server, close } = openPair(t);
  const piece = memory(t, 64);
  close(client);
  let looks = 0;
  while (receiveOne(server, piece, 64) === WOULD_BLOCK) assert.ok(++looks < 10_000);
});

test('shm port: bytes on the socket are bells, however many, never data', (t) => {
  const { client, server } = openPair(t);
  const piece = memory(t, 4096);
  for (let count = 0; count < 5000; count++) client.ring();
  server.onBell();
  assert.equal(receiveOne(server, piece, 4096), WOULD_BLOCK);
  assert.equal(sendOne(client, piece, 100), 100);
  assert.equal(receiveOne(server, piece, 4096), 100);
});

test('shm port: a peer’s position that moves back or too far breaks the channel', (t) => {
  const beyond = [-1, RING_BYTES + 101, RING_BYTES * 2, 0x7fffffff, -0x80000000, -RING_BYTES];
  for (const value of [...beyond, 0, 99]) {
    const { client, server, words } = openPair(t);
    const piece = memory(t, RING_BYTES);
    assert.equal(sendOne(client, piece, 100), 100);
    assert.equal(receiveOne(server, piece, 100), 100);
    words[directionOf('client', true).word + TAIL] = value;
    assert.equal(receiveOne(server, piece, 100), -EPROTO, `tail ${value}`);
    assert.equal(server.prepareSleep(), false, 'and nobody sleeps over it');
  }
  for (const value of [...beyond, RING_BYTES + 1, 50]) {
    const { client, server, words } = openPair(t);
    const piece = memory(t, RING_BYTES);
    assert.equal(sendOne(client, piece, RING_BYTES), RING_BYTES);
    assert.equal(receiveOne(server, piece, 100), 100);
    assert.equal(sendOne(client, piece, 40), 40, 'it has seen 100');
    assert.equal(sendOne(client, piece, 60), 60);
    words[directionOf('client', true).word + HEAD] = value === RING_BYTES + 1 ? value + 100 : value;
    assert.equal(sendOne(client, piece, 1), -EPROTO, `head ${value}`);
  }
});

test('shm port: nonsense in the sleep words costs bells, nothing else', (t) => {
  const { client, server, words } = openPair(t);
  const bytes = RING_BYTES;
  const [source, target] = [memory(t, bytes), memory(t, bytes)];
  fillPattern(source.uint8, 6);
  const { word } = directionOf('client', true);
  for (let sent = 0; sent < bytes; sent += 4096) {
    words[word + READER_SLEEPS] = sent - 7;
    client.setSend(0, source.addr + sent, 4096);
    assert.equal(client.send(0, 1, true), 4096);
    server.setReceive(0, target.addr + sent, 4096);
    assert.equal(server.receive(1), 4096);
  }
  assert.equal(findMismatch(target.uint8, 6), -1);
});
