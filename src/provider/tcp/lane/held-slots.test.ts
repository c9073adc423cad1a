// Staging slots that a link refers to after the send: the virtual link reads them only when the
// other end takes them, and a simulated GPU overwrites a slot as soon as it is used again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LaneEnd } from '../../../../test/support/lane-end.js';
import { exchangeFences, resend } from '../../../../test/support/lane-fence.js';
import {
  addGpuRegion,
  block,
  LanePair,
  type LanePairOptions,
} from '../../../../test/support/lane-pair.js';
import { SimulatedGpus } from '../../../../test/support/simulated-gpu.js';
import { FAIL_DEVICE } from '../../../base/failure.js';
import { fillPattern, findMismatch } from '../../../base/pattern.js';
import type { Channel } from './channel.js';
import { FLIGHT_MASK } from './flight.js';
import {
  COMMAND_CLOSE_SESSION,
  COMMAND_DROP_CHANNEL,
  EVENT_CHANNEL_DOWN,
  EVENT_DEVICE_COPIES,
  EVENT_DEVICE_FAILED,
} from './messages.js';

const CHUNK_BYTES = 32 * 1024;
const BYTES = 40 * CHUNK_BYTES + 777;
const LINK = { callBytesMax: 50_000, stallChance: 0.1, isByReference: true };

/** Answers to reads are referred to from 128 KiB on. */
const READ_CHUNK_BYTES = 256 * 1024;
const READ_BYTES = 12 * READ_CHUNK_BYTES + 777;

function openPair(options: LanePairOptions): LanePair {
  return new LanePair({ chunkBytes: CHUNK_BYTES, link: LINK, hasGpus: true, ...options });
}

function openReadPair(options: LanePairOptions): LanePair {
  return openPair({ chunkBytes: READ_CHUNK_BYTES, ...options });
}

function outPools(end: LaneEnd) {
  return end.core.staging.stagers.map((stager) => stager.out);
}

function renewalsOf(end: LaneEnd): number {
  return outPools(end).reduce((sum, { queue }) => {
    assert.ok('renewals' in queue && typeof queue.renewals === 'number');
    return sum + queue.renewals;
  }, 0);
}

function assertSlotsFree(end: LaneEnd): void {
  for (const pool of outPools(end)) assert.equal(pool.freeCount, pool.slotCount);
}

function assertMoves(pair: LanePair, seed: number): void {
  const local = addGpuRegion(pair.a, BYTES);
  const remote = addGpuRegion(pair.b, BYTES);
  fillPattern(local.memory, seed);
  const slot = pair.a.post('write', [block(local.region, remote.region, BYTES)]);
  assert.equal(pair.finish(slot), 0, `seed ${seed}`);
  assert.equal(findMismatch(remote.memory, seed), -1, `seed ${seed}`);
}

test('slots: what is sent by reference stays until it is confirmed, on every seed', () => {
  for (let seed = 1; seed <= 12; seed++) {
    const channels = 1 + (seed % 2);
    const pair = openPair({ seed, channels, windowChunks: 1 + (seed % (4 / channels)) });
    assertMoves(pair, seed);
    pair.settle();
    const referred = pair.links.reduce((sum, { a }) => sum + a.heldBytes, 0);
    assert.ok(referred > BYTES / 2, 'sent by reference');
    assertSlotsFree(pair.a);
    assert.equal(renewalsOf(pair.a), 0, 'nothing is renewed without need');
    pair.destroy();
  }
});

test('slots: with fewer than the window has chunks, some go by copy and all arrive', () => {
  const pair = openPair({ seed: 3, channels: 3, windowChunks: 16 });
  assertMoves(pair, 3);
  const total = (of: 'heldBytes' | 'unheldBytes') =>
    pair.links.reduce((sum, { a }) => sum + a[of], 0);
  assert.ok(total('heldBytes') > CHUNK_BYTES, 'by reference');
  assert.ok(total('unheldBytes') > CHUNK_BYTES, 'by copy');
  pair.destroy();
});

/** Slots that stay until they are confirmed, of chunks that are not sent whole yet. */
function heldInVector(channel: Channel): number {
  let count = 0;
  for (let at = channel.writes.acked; at !== channel.writes.next; at = (at + 1) | 0) {
    const flight = at & FLIGHT_MASK;
    const isInVector = (channel.writes.endAt[flight] ?? 0) > channel.vector.sentBytes;
    if (isInVector && (channel.held.flightSlot[flight] ?? -1) >= 0) count++;
  }
  return count;
}

test('slots: none is held whose bytes are copied, and none referred to that is not held', () => {
  const sends = { copied: 0, referred: 0 };
  for (let seed = 1; seed <= 12; seed++) {
    const pair = openPair({ seed, channels: 1 + (seed % 3), windowChunks: 16 });
    for (const [index, { a: port }] of pair.links.entries()) {
      const channel = pair.a.core.channels[index]!;
      const send = port.send.bind(port);
      port.send = (first, count, isHeld) => {
        const held = heldInVector(channel);
        assert.equal(isHeld ? channel.held.vectorCount : held, 0, `seed ${seed}`);
        if (!isHeld) sends.copied++;
        else if (held > 0) sends.referred++;
        return send(first, count, isHeld);
      };
    }
    assertMoves(pair, seed);
    pair.destroy();
  }
  assert.ok(sends.copied > 20 && sends.referred > 20, JSON.stringify(sends));
});

test('slots: a port that copies has them back once their bytes are sent', () => {
  const pair = openPair({ seed: 5, link: { callBytesMax: 50_000 } });
  assertMoves(pair, 5);
  assert.equal(pair.links[0]?.a.isByReference, false);
  assertSlotsFree(pair.a);
  pair.destroy();
});

test('slots: a channel that ends leaves its references other memory, at every moment', () => {
  let renewed = 0;
  for (let seed = 1; seed <= 25; seed++) {
    const pair = openPair({ seed, channels: 2, windowChunks: 2 });
    const local = addGpuRegion(pair.a, BYTES);
    const remote = addGpuRegion(pair.b, BYTES);
    pair.a.post('write', [block(local.region, remote.region, BYTES)]);
    for (let steps = 0; steps < seed * 6; steps++) {
      pair.a.step();
      pair.b.step();
    }
    const held = pair.a.core.channels.reduce((sum, one) => sum + one.held.flightHeld, 0);
    pair.a.command(COMMAND_CLOSE_SESSION, [0]);
    pair.a.step();
    // What was ready is still sent by the turn that closes.
    assert.ok(renewalsOf(pair.a) >= held, `seed ${seed}`);
    assertSlotsFree(pair.a);
    renewed += held;
    pair.destroy();
  }
  assert.ok(renewed > 0, 'some channel ended with chunks in flight');
});

test('slots: a peer that reads a lost channel late gets the right bytes, on every seed', () => {
  const seen = { lateBytes: 0, renewals: 0, retries: 0 };
  for (let seed = 1; seed <= 40; seed++) {
    const pair = openPair({ seed, channels: 2, windowChunks: 1 + (seed % 4) });
    const local = addGpuRegion(pair.a, BYTES);
    const remote = addGpuRegion(pair.b, BYTES);
    fillPattern(local.memory, seed);
    const slot = pair.a.post('write', [block(local.region, remote.region, BYTES)]);
    const { toB } = pair.links[1]!;
    const steps = pair.random.nextBetween(20, 250);
    for (let step = 0; step < steps; step++) {
      // What is sent last stays in the link: nobody has read it when its sender gives it up.
      toB.isStalled = step > steps - 30 && toB.sentBytes > toB.receivedBytes;
      (pair.random.nextChance(0.5) ? pair.a : pair.b).step();
    }
    toB.isStalled = true;
    pair.a.command(COMMAND_DROP_CHANNEL, [0, 1, 0]);
    pair.a.step();
    seen.lateBytes += toB.sentBytes - toB.receivedBytes;
    // The slots carry other chunks by now, over the channel that lives.
    for (let step = 0; step < 400; step++) [pair.a, pair.b].forEach((end) => end.step());
    toB.isStalled = false;
    pair.run(() => pair.b.eventsOf(EVENT_CHANNEL_DOWN).length > 0);
    exchangeFences(pair);
    pair.a.step();
    pair.b.step();
    seen.retries += resend(pair.a);
    assert.equal(pair.finish(slot), 0, `seed ${seed}`);
    pair.settle();
    assert.equal(findMismatch(remote.memory, seed), -1, `seed ${seed}`);
    seen.renewals += renewalsOf(pair.a);
    assertSlotsFree(pair.a);
    pair.destroy();
  }
  const { lateBytes, renewals, retries } = seen;
  const isTried = lateBytes > 20 * CHUNK_BYTES && renewals > 20 && retries > 5;
  assert.ok(isTried, JSON.stringify(seen));
});

function openRead(pair: LanePair, seed: number) {
  const local = addGpuRegion(pair.a, READ_BYTES);
  const remote = addGpuRegion(pair.b, READ_BYTES);
  fillPattern(remote.memory, seed);
  const slot = pair.a.post('read', [block(local.region, remote.region, READ_BYTES)]);
  return { local, remote, slot };
}

test('slots: answers to reads stay until they are confirmed, on every seed', () => {
  for (let seed = 1; seed <= 12; seed++) {
    const channels = 1 + (seed % 2);
    const pair = openReadPair({ seed, channels, windowChunks: 1 + (seed % (4 / channels)) });
    const { local, remote, slot } = openRead(pair, seed);
    assert.equal(pair.finish(slot), 0, `seed ${seed}`);
    assert.equal(findMismatch(local.memory, seed), -1, `seed ${seed}`);
    pair.settle();
    const referred = pair.links.reduce((sum, { b }) => sum + b.heldBytes, 0);
    assert.ok(referred > READ_BYTES / 2, 'sent by reference');
    assertSlotsFree(pair.b);
    assert.equal(pair.b.regions.users(remote.region), 0, `seed ${seed}`);
    assert.equal(renewalsOf(pair.b), 0, 'nothing is renewed without need');
    pair.destroy();
  }
});

test('slots: readers that want more than there are slots for all get their answers', () => {
  for (let seed = 1; seed <= 6; seed++) {
    const pair = openReadPair({ seed, channels: 5, windowChunks: 4 });
    const { local, slot } = openRead(pair, seed);
    assert.equal(pair.finish(slot), 0, `seed ${seed}`);
    assert.equal(findMismatch(local.memory, seed), -1, `seed ${seed}`);
    pair.settle();
    assertSlotsFree(pair.b);
    pair.destroy();
  }
});

test('slots: answers with a checksum go by reference too: nobody else writes to a slot', () => {
  const pair = openReadPair({ seed: 3, isChecked: true, windowChunks: 2 });
  const { local, slot } = openRead(pair, 3);
  assert.equal(pair.finish(slot), 0);
  assert.equal(findMismatch(local.memory, 3), -1);
  assert.ok(pair.links[0]!.b.heldBytes > READ_BYTES / 2);
  pair.destroy();
});

test('slots: short answers are copied, and long ones among them referred to', () => {
  const pair = openReadPair({ seed: 4, windowChunks: 4 });
  const local = addGpuRegion(pair.a, READ_BYTES);
  const remote = addGpuRegion(pair.b, READ_BYTES);
  fillPattern(remote.memory, 4);
  const lengths = [4096, READ_CHUNK_BYTES, 100_000, READ_CHUNK_BYTES, 17];
  let at = 0;
  const slots = lengths.map((bytes) => {
    const slot = pair.a.post('read', [block(local.region, remote.region, bytes, at, at)]);
    at += bytes;
    return slot;
  });
  for (const slot of slots) assert.equal(pair.finish(slot), 0);
  assert.equal(findMismatch(local.memory.subarray(0, at), 4), -1);
  pair.settle();
  assertSlotsFree(pair.b);
  const { heldBytes, unheldBytes } = pair.links[0]!.b;
  assert.ok(heldBytes >= READ_CHUNK_BYTES, `${heldBytes} by reference`);
  assert.ok(unheldBytes >= 4096, `${unheldBytes} by copy`);
  pair.destroy();
});

test('slots: an answering channel that ends leaves its references other memory', () => {
  let renewed = 0;
  for (let seed = 1; seed <= 10; seed++) {
    const pair = openReadPair({ seed, channels: 2, windowChunks: 2 });
    const { local, remote, slot } = openRead(pair, seed);
    const expected = remote.memory.slice();
    for (let steps = 0; steps < seed * 8; steps++) {
      pair.a.step();
      pair.b.step();
    }
    const held = pair.b.core.channels.reduce((sum, one) => sum + one.held.flightHeld, 0);
    pair.b.command(COMMAND_CLOSE_SESSION, [0]);
    pair.b.step();
    assert.ok(renewalsOf(pair.b) >= held, `seed ${seed}`);
    assertSlotsFree(pair.b);
    assert.equal(pair.b.regions.users(remote.region), 0, 'the region is not what is read late');
    renewed += held;
    // The slots carry other bytes while the reader takes what is left in the links.
    const other = addGpuRegion(pair.b, READ_BYTES);
    other.memory.fill(0xee);
    for (let steps = 0; steps < 100; steps++) pair.a.step();
    assert.ok(slot >= 0);
    const wrong = local.memory.findIndex((byte, index) => byte !== 0 && byte !== expected[index]);
    assert.equal(wrong, -1, `seed ${seed}`);
    pair.destroy();
  }
  assert.ok(renewed > 0, 'some channel ended with answers in flight');
});

test('slots: one that cannot get other memory fails the GPU with a cause; nothing hangs', () => {
  const pair = openPair({ seed: 4, channels: 2, windowChunks: 2 });
  const local = addGpuRegion(pair.a, BYTES, SimulatedGpus.FailsRenewal);
  const remote = addGpuRegion(pair.b, BYTES);
  const blocks = [block(local.region, remote.region, BYTES)];
  pair.a.post('write', blocks);
  const ending = pair.a.core.channels[1]!;
  pair.run(() => ending.held.flightHeld > 0);
  pair.a.command(COMMAND_DROP_CHANNEL, [0, 1, 0]);
  pair.a.step();
  pair.a.step();
  assert.equal(pair.a.eventsOf(EVENT_DEVICE_FAILED).length, 1, 'the log is told');
  assert.equal(pair.finish(pair.a.post('write', blocks)), FAIL_DEVICE);
  pair.destroy();
});

test('slots: a GPU whose slots cannot be referred to copies, and the log is told once', () => {
  const pair = openPair({ seed: 6, channels: 2, windowChunks: 2 });
  const local = addGpuRegion(pair.a, BYTES, SimulatedGpus.Fixed);
  const remote = addGpuRegion(pair.b, BYTES);
  addGpuRegion(pair.a, BYTES, SimulatedGpus.Healthy);
  const slot = pair.a.post('write', [block(local.region, remote.region, BYTES)]);
  assert.equal(pair.finish(slot), 0);
  assert.equal(pair.a.eventsOf(EVENT_DEVICE_COPIES).length, 1);
  assert.equal(pair.b.eventsOf(EVENT_DEVICE_COPIES).length, 0);
  assert.equal(pair.a.eventsOf(EVENT_DEVICE_FAILED).length, 0);
  pair.destroy();
});
