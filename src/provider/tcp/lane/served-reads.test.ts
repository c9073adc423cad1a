// Answers to reads that a link refers to after the send: the virtual link reads them only when the
// other end takes them, and the owner writes over its memory as soon as it has it back.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addRegion,
  block,
  LanePair,
  type LanePairOptions,
  startReadsAt,
} from '../../../../test/support/lane-pair.js';
import { fillPattern, findMismatch } from '../../../base/pattern.js';
import { seededRandom } from '../../../base/random.js';
import { DATA_HEAD_BYTES, TABLE_ENTRIES_MAX } from '../../../wire/data-frame.js';
import { VECTOR_ENTRIES_MAX } from '../port/stream-port.js';
import { COMMAND_CLOSE_SESSION, COMMAND_DROP_CHANNEL, COMMAND_SETTLE_CHANNEL } from './messages.js';

const CHUNK_BYTES = 256 * 1024;
const BYTES = 12 * CHUNK_BYTES + 777;
const LINK = { callBytesMax: 300_000, stallChance: 0.1, isByReference: true };
/** No byte of the pattern: it would be seen wherever it landed. */
const OVERWRITTEN = 0xee;

function openPair(options: LanePairOptions): LanePair {
  return new LanePair({ chunkBytes: CHUNK_BYTES, link: LINK, ...options });
}

function openRead(pair: LanePair, seed: number) {
  const local = addRegion(pair.a, BYTES);
  const remote = addRegion(pair.b, BYTES);
  fillPattern(remote.memory, seed);
  const slot = pair.a.post('read', [block(local.region, remote.region, BYTES)]);
  return { local, remote, slot };
}

function heldBytesOf(pair: LanePair): number {
  return pair.links.reduce((sum, { b }) => sum + b.heldBytes, 0);
}

test('reads: answers go by reference, and their region is free once they are confirmed', () => {
  for (let seed = 1; seed <= 12; seed++) {
    const pair = openPair({ seed, channels: 1 + (seed % 2), windowChunks: 1 + (seed % 5) });
    const { local, remote, slot } = openRead(pair, seed);
    assert.equal(pair.finish(slot), 0, `seed ${seed}`);
    assert.equal(findMismatch(local.memory, seed), -1, `seed ${seed}`);
    pair.settle();
    assert.equal(pair.b.regions.users(remote.region), 0, `seed ${seed}`);
    assert.ok(heldBytesOf(pair) > BYTES / 2, 'sent by reference');
    pair.destroy();
  }
});

test('reads: memory that its owner has back is never seen by the reader, at any moment', () => {
  let cutShort = 0;
  for (let seed = 1; seed <= 60; seed++) {
    const pair = openPair({ seed, channels: 1 + (seed % 3), windowChunks: 1 + (seed % 6) });
    const { local, remote, slot } = openRead(pair, seed);
    const expected = remote.memory.slice();
    const endSteps = seededRandom(seed).nextBetween(1, 60);
    for (let steps = 0; steps < endSteps; steps++) {
      pair.a.step();
      pair.b.step();
    }
    pair.b.regions.beginClose(remote.region);
    pair.run(() => pair.b.regions.users(remote.region) === 0);
    pair.b.regions.finishClose(remote.region);
    remote.memory.fill(OVERWRITTEN);
    if (pair.finish(slot) !== 0) cutShort++;
    const wrong = local.memory.findIndex((byte, at) => byte !== 0 && byte !== expected[at]);
    assert.equal(wrong, -1, `seed ${seed}`);
    pair.destroy();
  }
  assert.ok(cutShort > 5 && cutShort < 55, `${cutShort} of 60 ended before all was read`);
});

test('reads: a short answer is copied, and nobody is asked to confirm it', () => {
  const pair = openPair({ seed: 2 });
  const local = addRegion(pair.a, 100_000);
  const remote = addRegion(pair.b, 100_000);
  fillPattern(remote.memory, 2);
  const link = pair.links[0]!;
  const before = link.toB.sentBytes;
  assert.equal(pair.finish(pair.a.post('read', [block(local.region, remote.region, 100_000)])), 0);
  remote.memory.fill(OVERWRITTEN);
  pair.settle();
  assert.equal(findMismatch(local.memory, 2), -1);
  assert.equal(link.toB.sentBytes - before, DATA_HEAD_BYTES, 'one request and nothing else');
  assert.equal(pair.b.regions.users(remote.region), 0);
  pair.destroy();
});

test('reads: where nothing goes by reference a link hears what the reader asks for', () => {
  for (const isCopied of [false, true]) {
    const pair = openPair({ seed: 3, isCopied, link: {} });
    const pieces = 32;
    const bytes = pieces * 8192;
    const [local, remote] = [addRegion(pair.a, bytes), addRegion(pair.b, 2 * bytes)];
    fillPattern(remote.memory, 3);
    const blocks = Array.from({ length: pieces }, (_, index) => {
      const near = { ...block(local.region, remote.region, 8192), localOffset: index * 8192 };
      return { ...near, remoteOffset: index * 16_384 };
    });
    assert.equal(pair.finish(pair.a.post('read', blocks)), 0);
    const { heldBytes, unheldBytes } = pair.links[0]!.b;
    assert.ok((isCopied ? unheldBytes : heldBytes) >= bytes, `${heldBytes}, ${unheldBytes}`);
    assert.ok((isCopied ? heldBytes : unheldBytes) < bytes, `${heldBytes}, ${unheldBytes}`);
    assert.equal(pair.b.regions.users(remote.region), 0);
    pair.destroy();
  }
});

test('reads: a channel that ends holds what the peer may still read, until that has ended', () => {
  for (const end of ['fence', 'session'] as const) {
    const pair = openPair({ seed: 6 });
    const { remote } = openRead(pair, 6);
    const [channel] = pair.b.core.channels;
    pair.run(() => channel!.served.framed - channel!.served.confirmed > 1);
    pair.b.command(COMMAND_DROP_CHANNEL, [0, 0, 0]);
    pair.b.step();
    assert.equal(pair.b.core.channels.length, 0);
    assert.ok(pair.b.regions.users(remote.region) > 0, 'held');
    if (end === 'fence') pair.b.command(COMMAND_SETTLE_CHANNEL, [0, 0, 0, 0, 0, 0]);
    else pair.b.command(COMMAND_CLOSE_SESSION, [0]);
    pair.b.step();
    assert.equal(pair.b.regions.users(remote.region), 0, end);
    pair.destroy();
  }
});

test('reads: answers with a checksum are copied', () => {
  const pair = openPair({ seed: 7, isChecked: true });
  const { local, slot } = openRead(pair, 7);
  assert.equal(pair.finish(slot), 0);
  assert.equal(findMismatch(local.memory, 7), -1);
  assert.ok(heldBytesOf(pair) < CHUNK_BYTES, `${heldBytesOf(pair)} held`);
  pair.destroy();
});

test('reads: a confirmation follows whatever the counters have reached, once', () => {
  const pair = openPair({ seed: 8 });
  const near = 0x7ffffffe;
  const [a] = pair.a.core.channels;
  const [b] = pair.b.core.channels;
  assert.ok(a !== undefined && b !== undefined);
  startReadsAt(a, b, near);
  const { remote, slot } = openRead(pair, 8);
  assert.equal(pair.finish(slot), 0);
  pair.settle();
  assert.equal(pair.b.regions.users(remote.region), 0);
  const sent = pair.links[0]!.toB.sentBytes;
  pair.settle();
  assert.equal(pair.links[0]!.toB.sentBytes, sent, 'nothing more is said');
  pair.destroy();
});

test('reads: a confirmation fits behind the longest table in a full vector', () => {
  const pair = openPair({ seed: 9, link: { isByReference: true } });
  const local = addRegion(pair.a, 1_000_000);
  const remote = addRegion(pair.b, 1_000_000);
  // Short blocks that do not touch: a head and a range each, then a head, a table and 1,000 ranges.
  const scattered = (first: number, count: number) =>
    Array.from({ length: count }, (_, index) => {
      const at = (first + index) * 200;
      return block(local.region, remote.region, 100, at, at);
    });
  const [channel] = pair.a.core.channels;
  const singles = (VECTOR_ENTRIES_MAX - TABLE_ENTRIES_MAX - 2) / 2;
  const writes = Array.from({ length: singles }, (_, index) =>
    pair.a.post('write', scattered(index, 1)),
  );
  writes.push(pair.a.post('write', scattered(100, TABLE_ENTRIES_MAX)));
  channel!.reads.isConfirmWanted = true;
  for (const one of writes) assert.equal(pair.finish(one), 0);
  assert.equal(channel!.reads.isConfirmWanted, false, 'told');
  pair.destroy();
});

test('reads: their places lie densely in a ring, from its start whenever none wait', () => {
  const pair = new LanePair({ seed: 5, windowChunks: 3, chunkBytes: 4096, link: LINK });
  const count = 4000;
  const local = addRegion(pair.a, count * 8);
  const remote = addRegion(pair.b, count * 16);
  fillPattern(remote.memory, 9);
  const blocks = Array.from({ length: count }, (_, index) =>
    block(local.region, remote.region, 8, index * 8, index * 16),
  );
  const slot = pair.a.post('read', blocks);
  const served = pair.b.core.channels[0]!.served;
  pair.run(() => served.tail > 0);
  assert.ok(served.placesTail <= served.tail * 512, 'as many places as were asked for');
  assert.equal(pair.finish(slot), 0);
  for (let index = 0; index < count; index++) {
    const own = local.memory.subarray(index * 8, index * 8 + 8);
    assert.deepEqual(own, remote.memory.subarray(index * 16, index * 16 + 8), `block ${index}`);
  }
  assert.equal(served.placesHeld, 0, 'what was framed has no places any more');
  assert.equal(served.placesMax, 3 * TABLE_ENTRIES_MAX);
  pair.destroy();
});
