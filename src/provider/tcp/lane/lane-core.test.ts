// Transfers between two lane cores over a virtual link: every byte position-dependent, every call
// partial where the seed says so.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addRegion, block, LanePair, startReadsAt } from '../../../../test/support/lane-pair.js';
import { assertMovesMiddle, middleMoveBytes } from '../../../../test/support/middle-move.js';
import {
  FAIL_BOUNDS,
  FAIL_CANCELLED,
  FAIL_KEY,
  FAIL_RIGHTS,
  FAIL_STALE,
} from '../../../base/failure.js';
import { fillPattern, findMismatch } from '../../../base/pattern.js';
import { seededRandom } from '../../../base/random.js';
import { LANE_DRAINED, TRANSFER_CLAIM, TRANSFER_REMAINING, transferWord } from './layout.js';
import { EVENT_FINISHED, EVENT_NOTIFICATION, EVENT_REFUSED } from './messages.js';

const LINKS = {
  'calls that take all': {},
  'calls of 1 to 13 bytes': { callBytesMax: 13 },
  'calls of up to 9,000 bytes and stalls': { callBytesMax: 9000, stallChance: 0.3 },
  'a pipe of 4 KiB': { pipeBytes: 4096 },
};

for (const [name, link] of Object.entries(LINKS)) {
  for (const operation of ['write', 'read'] as const) {
    test(`lane: a ${operation} of odd length lands whole, over ${name}`, () => {
      const pair = new LanePair({ seed: 11, chunkBytes: 4096, link });
      const bytes = 50_003;
      const local = addRegion(pair.a, middleMoveBytes(bytes));
      const remote = addRegion(pair.b, middleMoveBytes(bytes));
      assertMovesMiddle(pair, operation, local, remote, bytes);
      assert.equal(pair.a.eventsOf(EVENT_FINISHED).length, 1);
    });
  }
}

test('lane: writes, reads and notifications land whole over calls of every size', () => {
  let callBytes = 0;
  const link = { callBytes: () => callBytes };
  const pair = new LanePair({ seed: 4, chunkBytes: 512, windowChunks: 4, channels: 2, link });
  const bytes = 1603;
  const local = addRegion(pair.a, bytes);
  const remote = addRegion(pair.b, bytes);
  const back = addRegion(pair.a, bytes);
  // Every way to cut heads (64 bytes), tables and a chunk with what follows it.
  for (callBytes = 1; callBytes <= 700; callBytes++) {
    fillPattern(local.memory, callBytes);
    back.memory.fill(0);
    const blocks = [
      block(local.region, remote.region, 900),
      block(local.region, remote.region, 703, 900, 900),
    ];
    const write = pair.a.post('write', blocks, new Uint8Array(callBytes & 63).fill(7));
    assert.equal(pair.finish(write), 0, `write in calls of ${callBytes}`);
    assert.equal(findMismatch(remote.memory, callBytes), -1, `write in calls of ${callBytes}`);
    const read = pair.a.post('read', [block(back.region, remote.region, bytes)]);
    assert.equal(pair.finish(read), 0, `read in calls of ${callBytes}`);
    assert.equal(findMismatch(back.memory, callBytes), -1, `read in calls of ${callBytes}`);
    for (const slot of [write, read]) pair.a.transfers.free(slot);
  }
  pair.settle();
  assert.equal(pair.b.eventsOf(EVENT_NOTIFICATION).length, 700);
});

test('lane: sizes 1, 23, 4095, 4096 and 4097 in both directions at once', () => {
  for (const bytes of [1, 23, 4095, 4096, 4097]) {
    const pair = new LanePair({ seed: bytes, chunkBytes: 4096, link: { callBytesMax: 500 } });
    const a = addRegion(pair.a, 2 * bytes);
    const b = addRegion(pair.b, 2 * bytes);
    fillPattern(a.memory.subarray(0, bytes), 1);
    fillPattern(b.memory.subarray(0, bytes), 2);
    const fromA = pair.a.post('write', [block(a.region, b.region, bytes, 0, bytes)]);
    const fromB = pair.b.post('write', [block(b.region, a.region, bytes, 0, bytes)]);
    assert.equal(pair.finish(fromA), 0);
    assert.equal(pair.finish(fromB, pair.b), 0);
    assert.equal(findMismatch(b.memory.subarray(bytes), 1), -1, `${bytes} to b`);
    assert.equal(findMismatch(a.memory.subarray(bytes), 2), -1, `${bytes} to a`);
  }
});

for (const operation of ['write', 'read'] as const) {
  test(`lane: 3,000 scattered blocks of one ${operation} land where they belong`, () => {
    const pair = new LanePair({ seed: 5, chunkBytes: 16384, link: { callBytesMax: 20_000 } });
    const random = seededRandom(9);
    const count = 3000;
    const local = addRegion(pair.a, count * 64);
    const remote = addRegion(pair.b, count * 64);
    const source = operation === 'write' ? local.memory : remote.memory;
    const target = operation === 'write' ? remote.memory : local.memory;
    fillPattern(source, 3);
    // Every block goes to the mirrored place, so that no two are neighbours.
    const blocks = Array.from({ length: count }, (_, index) => {
      const bytes = random.nextBetween(1, 60);
      const mirrored = (count - 1 - index) * 64;
      return block(local.region, remote.region, bytes, index * 64, mirrored);
    });
    assert.equal(pair.finish(pair.a.post(operation, blocks)), 0);
    const expected = new Uint8Array(target.length);
    for (const one of blocks) {
      const from = operation === 'write' ? one.localOffset : one.remoteOffset;
      const to = operation === 'write' ? one.remoteOffset : one.localOffset;
      expected.set(source.subarray(from, from + one.bytes), to);
    }
    assert.ok(Buffer.from(target.buffer).equals(Buffer.from(expected.buffer)));
  });
}

test('lane: many transfers over four channels of different speed, each whole', () => {
  const pair = new LanePair({
    seed: 77,
    channels: 4,
    chunkBytes: 8192,
    link: { callBytesMax: 7000, stallChance: 0.2 },
  });
  const bytes = 300_000;
  const transfers = Array.from({ length: 8 }, (_, index) => {
    const local = addRegion(pair.a, bytes);
    const remote = addRegion(pair.b, bytes);
    const isWrite = index % 2 === 0;
    fillPattern(isWrite ? local.memory : remote.memory, index);
    const slot = pair.a.post(isWrite ? 'write' : 'read', [
      block(local.region, remote.region, bytes),
    ]);
    return { slot, index, target: isWrite ? remote.memory : local.memory };
  });
  for (const { slot, index, target } of transfers) {
    assert.equal(pair.finish(slot), 0);
    assert.equal(findMismatch(target, index), -1, `transfer ${index}`);
    let sum = 0;
    for (let channel = 0; channel < 4; channel++)
      sum += pair.a.transfers.channelBytes(slot, channel);
    assert.equal(sum, bytes, 'the receipt counts every byte once');
  }
});

test('lane: a notification comes after its data, on every channel count and seed', () => {
  for (const channels of [1, 3]) {
    for (let seed = 1; seed <= 15; seed++) {
      const pair = new LanePair({
        seed,
        channels,
        chunkBytes: 4096,
        windowChunks: 1 + (seed % 4),
        link: { callBytesMax: 3000, stallChance: 0.1 },
      });
      const bytes = 40_001;
      const local = addRegion(pair.a, bytes);
      const remote = addRegion(pair.b, bytes);
      fillPattern(local.memory, seed);
      const text = new TextEncoder().encode(`seed ${seed}`);
      const slot = pair.a.post('write', [block(local.region, remote.region, bytes)], text);
      pair.run(() => pair.b.eventsOf(EVENT_NOTIFICATION).length > 0);
      assert.equal(findMismatch(remote.memory, seed), -1, `seed ${seed}: data came first`);
      assert.equal(pair.finish(slot), 0);
      const [event] = pair.b.eventsOf(EVENT_NOTIFICATION);
      assert.deepEqual(event?.bytes, text);
    }
  }
});

test('lane: a read notifies the owner after its bytes are here', () => {
  const pair = new LanePair({ seed: 3, chunkBytes: 4096, link: { callBytesMax: 999 } });
  const local = addRegion(pair.a, 30_000);
  const remote = addRegion(pair.b, 30_000);
  fillPattern(remote.memory, 8);
  const slot = pair.a.post('read', [block(local.region, remote.region, 30_000)], Uint8Array.of(1));
  pair.run(() => pair.b.eventsOf(EVENT_NOTIFICATION).length > 0);
  assert.equal(findMismatch(local.memory, 8), -1);
  assert.equal(pair.finish(slot), 0);
});

test('lane: notifications of 0 and 65,536 bytes arrive as sent, in order', () => {
  const pair = new LanePair({ seed: 4, link: { callBytesMax: 5000 } });
  const sizes = [0, 65_536, 1, 65_536, 0, 65_535];
  const slots = sizes.map((bytes, index) => {
    const message = new Uint8Array(bytes);
    fillPattern(message, index);
    return pair.a.notify(message);
  });
  for (const slot of slots) assert.equal(pair.finish(slot), 0);
  const got = pair.b.eventsOf(EVENT_NOTIFICATION);
  assert.deepEqual(
    got.map((event) => event.bytes.length),
    sizes,
  );
  got.forEach((event, index) => assert.equal(findMismatch(event.bytes, index), -1));
});

test('lane: notifications wait while nobody takes them, data in flight is not lost', () => {
  const pair = new LanePair({ seed: 6 });
  pair.b.isDraining = false;
  const message = new Uint8Array(60_000).fill(7);
  const slots = Array.from({ length: 40 }, () => pair.a.notify(message));
  pair.settle();
  const isWaiting = slots.filter((slot) => !pair.a.isFinished(slot));
  assert.ok(isWaiting.length > 10, 'the sender is held back');
  pair.b.isDraining = true;
  for (const slot of slots) assert.equal(pair.finish(slot), 0);
  assert.equal(pair.b.eventsOf(EVENT_NOTIFICATION).length, 40);
});

test('lane: refusals name their reason, and the session goes on', () => {
  const pair = new LanePair({ seed: 8, chunkBytes: 4096, link: { callBytesMax: 700 } });
  const local = addRegion(pair.a, 20_000);
  const open = addRegion(pair.b, 20_000);
  const readOnly = addRegion(pair.b, 20_000, { read: true, write: false });
  const writeOnly = addRegion(pair.b, 20_000, { read: false, write: true });
  const gone = addRegion(pair.b, 20_000);
  pair.b.regions.beginClose(gone.region);
  pair.b.regions.finishClose(gone.region);
  const forged = {
    ...open.region,
    descriptor: { ...open.region.descriptor, key: '00'.repeat(16) },
  };
  const wide = { ...open.region, descriptor: { ...open.region.descriptor, bytes: 1e9 } };
  const cases = [
    ['write', gone.region, FAIL_STALE, 0],
    ['read', gone.region, FAIL_STALE, 0],
    ['write', forged, FAIL_KEY, 0],
    ['read', forged, FAIL_KEY, 0],
    ['write', readOnly.region, FAIL_RIGHTS, 0],
    ['read', writeOnly.region, FAIL_RIGHTS, 0],
    ['write', wide, FAIL_BOUNDS, 1],
    ['read', wide, FAIL_BOUNDS, 1],
    ['write', wide, FAIL_BOUNDS, 500_000_000],
  ] as const;
  for (const [operation, remote, failure, offset] of cases) {
    const note = Uint8Array.of(9);
    const one = block(local.region, remote, 20_000, 0, offset);
    assert.equal(pair.finish(pair.a.post(operation, [one], note)), failure, operation);
  }
  pair.settle();
  assert.equal(pair.b.eventsOf(EVENT_NOTIFICATION).length, 0, 'no notification of a failed one');
  assert.equal(pair.b.eventsOf(EVENT_REFUSED).length, cases.length, 'the owner is told of each');
  for (const { region } of [open, readOnly, writeOnly]) {
    assert.equal(pair.b.regions.users(region), 0);
  }
  assert.ok(open.memory.subarray(8192).every((byte) => byte === 0));
  fillPattern(local.memory, 1);
  assert.equal(pair.finish(pair.a.post('write', [block(local.region, open.region, 20_000)])), 0);
  assert.equal(findMismatch(open.memory, 1), -1, 'the session goes on');
});

test('lane: after a cancel finished no further byte lands, and the session goes on', () => {
  const pair = new LanePair({
    seed: 10,
    chunkBytes: 4096,
    windowChunks: 4,
    link: { pipeBytes: 8192 },
  });
  const local = addRegion(pair.a, 400_000);
  const remote = addRegion(pair.b, 400_000);
  local.memory.fill(1);
  const slot = pair.a.post('write', [block(local.region, remote.region, 400_000)]);
  pair.run(() => remote.memory[20_000] === 1);
  pair.a.cancel(slot, pair.a.transfers.generation(slot) + 1);
  pair.a.step();
  assert.equal(pair.a.transfers.failure(slot), 0, 'another generation is left alone');
  pair.a.cancel(slot);
  assert.equal(pair.finish(slot), FAIL_CANCELLED);
  const landed = remote.memory.filter((byte) => byte === 1).length;
  assert.ok(landed < 400_000);
  pair.settle();
  assert.equal(remote.memory.filter((byte) => byte === 1).length, landed);
  assert.equal(pair.b.regions.users(remote.region), 0);
  assert.equal(pair.finish(pair.a.post('write', [block(local.region, remote.region, 4096)])), 0);
});

test('lane: what comes of a read that was cancelled is thrown away and counted', () => {
  const link = { pipeBytes: 8192 };
  const pair = new LanePair({ seed: 10, chunkBytes: 4096, windowChunks: 4, link });
  const local = addRegion(pair.a, 400_000);
  const remote = addRegion(pair.b, 400_000);
  remote.memory.fill(1);
  const drained = (): number => {
    return pair.a.core.float64[pair.a.core.controlAt / 8 + LANE_DRAINED] ?? 0;
  };
  const slot = pair.a.post('read', [block(local.region, remote.region, 400_000)]);
  pair.run(() => local.memory[20_000] === 1);
  assert.equal(drained(), 0);
  pair.a.cancel(slot);
  assert.equal(pair.finish(slot), FAIL_CANCELLED);
  assert.ok(drained() > 0 && drained() <= 4 * 4096, 'at most a window was under way');
});

test('lane: sequence numbers beyond 2^31 go on counting', () => {
  const pair = new LanePair({ seed: 12, chunkBytes: 4096 });
  const near = 0x7ffffffe;
  const [a] = pair.a.core.channels;
  const [b] = pair.b.core.channels;
  assert.ok(a !== undefined && b !== undefined);
  a.writes.next = a.writes.acked = near;
  startReadsAt(a, b, near);
  b.arrivals.arrived = b.arrivals.landed = b.arrivals.ackSent = near;
  const local = addRegion(pair.a, 60_000);
  const remote = addRegion(pair.b, 60_000);
  fillPattern(local.memory, 2);
  assert.equal(pair.finish(pair.a.post('write', [block(local.region, remote.region, 60_000)])), 0);
  assert.equal(findMismatch(remote.memory, 2), -1);
  local.memory.fill(0);
  assert.equal(pair.finish(pair.a.post('read', [block(local.region, remote.region, 60_000)])), 0);
  assert.equal(findMismatch(local.memory, 2), -1);
});

test('verification: one byte flipped in flight is found, at its place', () => {
  const pair = new LanePair({ seed: 13, chunkBytes: 65536 });
  const bytes = 200_000;
  const local = addRegion(pair.a, bytes);
  const remote = addRegion(pair.b, bytes);
  fillPattern(local.memory, 4);
  const link = pair.links[0]!;
  // Third chunk: two heads and chunks before it, its own head, then byte 100 of it.
  link.toB.flipAt = link.toB.sentBytes + 3 * 64 + 2 * 65536 + 100;
  assert.equal(pair.finish(pair.a.post('write', [block(local.region, remote.region, bytes)])), 0);
  assert.equal(findMismatch(remote.memory, 4), 2 * 65536 + 100);
});

test('verification: one chunk that is skipped is found', () => {
  const pair = new LanePair({ seed: 14, chunkBytes: 65536 });
  const bytes = 200_000;
  const local = addRegion(pair.a, bytes);
  const remote = addRegion(pair.b, bytes);
  fillPattern(local.memory, 4);
  const slot = pair.a.post('write', [block(local.region, remote.region, bytes)]);
  // As if chunk 0 had been claimed and confirmed, but nobody had sent it.
  const { int32, transfersAt } = pair.a.core;
  int32[transferWord(transfersAt, slot, TRANSFER_CLAIM)]! += 1;
  int32[transferWord(transfersAt, slot, TRANSFER_REMAINING)]! -= 1;
  assert.equal(pair.finish(slot), 0);
  assert.equal(findMismatch(remote.memory, 4), 0);
  assert.equal(findMismatch(remote.memory.subarray(65536), 4, 65536), -1);
});
