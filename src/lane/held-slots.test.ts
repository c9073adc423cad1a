// Staging slots that a link refers to after the send: the virtual link reads them only when the
// other end takes them, and a simulated GPU overwrites a slot as soon as it is used again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LaneEnd } from '../testing/lane-end.js';
import { addGpuRegion, block, LanePair, type LanePairOptions } from '../testing/lane-pair.js';
import { fillPattern, findMismatch } from '../testing/pattern.js';
import { SimulatedGpus } from '../testing/simulated-gpu.js';
import { FAIL_DEVICE } from './layout.js';
import {
  COMMAND_CLOSE_SESSION,
  COMMAND_DROP_CHANNEL,
  EVENT_DEVICE_COPIES,
  EVENT_DEVICE_FAILED,
} from './messages.js';

const CHUNK_BYTES = 32 * 1024;
const BYTES = 40 * CHUNK_BYTES + 777;
const LINK = { callBytesMax: 50_000, stallChance: 0.1, isByReference: true };

function openPair(options: LanePairOptions): LanePair {
  return new LanePair({ chunkBytes: CHUNK_BYTES, link: LINK, hasGpus: true, ...options });
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
  fillPattern(local.memory, 0, seed);
  const slot = pair.a.post('write', [block(local.region, remote.region, BYTES)]);
  assert.equal(pair.finish(slot), 0, `seed ${seed}`);
  assert.equal(findMismatch(remote.memory, 0, seed), -1, `seed ${seed}`);
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
    const held = pair.a.core.channels.reduce((sum, { stage }) => sum + stage.flightHeld, 0);
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

test('slots: one that cannot get other memory fails the GPU with a cause; nothing hangs', () => {
  const pair = openPair({ seed: 4, channels: 2, windowChunks: 2 });
  const local = addGpuRegion(pair.a, BYTES, SimulatedGpus.FailsRenewal);
  const remote = addGpuRegion(pair.b, BYTES);
  const blocks = [block(local.region, remote.region, BYTES)];
  pair.a.post('write', blocks);
  const ending = pair.a.core.channels[1]!;
  pair.run(() => ending.stage.flightHeld > 0);
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
