// GPUs that fail, sources that are not ready, transfers that are cancelled and channels that end
// while device copies are under way.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LaneEnd } from '../../../../test/support/lane-end.js';
import { addGpuRegion, addRegion, block, LanePair } from '../../../../test/support/lane-pair.js';
import { SimulatedGpus } from '../../../../test/support/simulated-gpu.js';
import {
  FAIL_CANCELLED,
  FAIL_CHANNEL,
  FAIL_DEVICE,
  FAIL_PEER_DEVICE,
} from '../../../base/failure.js';
import { fillPattern, findMismatch } from '../../../base/pattern.js';
import { memoryRange } from '../../../memory/region.js';
import { COMMAND_CLOSE_SESSION, EVENT_DEVICE_FAILED, EVENT_NOTIFICATION } from './messages.js';

const BYTES = 200_000;
const LINK = { callBytesMax: 9000, stallChance: 0.1 };

function assertSlotsFree(end: LaneEnd): void {
  for (const { out, into } of end.core.staging.stagers) {
    assert.equal(out.freeCount, out.slotCount, 'slots for sending are back');
    assert.equal(into.freeCount, into.slotCount, 'slots for receiving are back');
  }
}

/** The session still carries host memory, both ways. */
function assertGoesOn(pair: LanePair): void {
  const local = addRegion(pair.a, BYTES);
  const remote = addRegion(pair.b, BYTES);
  for (const operation of ['write', 'read'] as const) {
    fillPattern(local.memory, 9);
    const slot = pair.a.post(operation, [block(local.region, remote.region, BYTES)]);
    assert.equal(pair.finish(slot), 0, `${operation} of host memory afterwards`);
    assert.equal(findMismatch(remote.memory, 9), -1);
  }
}

const { Healthy, FailsOut, FailsIn, Closed } = SimulatedGpus;
const FAILURES = [
  { operation: 'write', here: FailsOut, there: Healthy, failure: FAIL_DEVICE },
  { operation: 'write', here: Healthy, there: FailsIn, failure: FAIL_PEER_DEVICE },
  { operation: 'read', here: Healthy, there: FailsOut, failure: FAIL_PEER_DEVICE },
  { operation: 'read', here: FailsIn, there: Healthy, failure: FAIL_DEVICE },
  { operation: 'write', here: Closed, there: Healthy, failure: FAIL_DEVICE },
  { operation: 'write', here: Healthy, there: Closed, failure: FAIL_PEER_DEVICE },
  { operation: 'read', here: Healthy, there: Closed, failure: FAIL_PEER_DEVICE },
  { operation: 'read', here: Closed, there: Healthy, failure: FAIL_DEVICE },
] as const;

for (const { operation, here, there, failure } of FAILURES) {
  test(`staging: a ${operation} fails alone when GPU ${here} here or ${there} there does`, () => {
    for (let seed = 1; seed <= 8; seed++) {
      const channels = 1 + (seed % 2);
      const pair = new LanePair({ seed, channels, chunkBytes: 4096, link: LINK, hasGpus: true });
      const local = addGpuRegion(pair.a, BYTES, here);
      const remote = addGpuRegion(pair.b, BYTES, there);
      const blocks = [block(local.region, remote.region, BYTES)];
      const slot = pair.a.post(operation, blocks, Uint8Array.of(1));
      assert.equal(pair.finish(slot), failure, `seed ${seed}`);
      assert.equal(pair.finish(pair.a.post(operation, blocks)), failure, 'and again');
      assertGoesOn(pair);
      pair.settle();
      assert.equal(pair.b.eventsOf(EVENT_NOTIFICATION).length, 0, 'no notification of it');
      assert.equal(pair.b.regions.users(remote.region), 0);
      assertSlotsFree(pair.a);
      assertSlotsFree(pair.b);
      const failed = here === Closed ? pair.a : there === Closed ? pair.b : undefined;
      if (failed !== undefined) assert.equal(failed.eventsOf(EVENT_DEVICE_FAILED).length, 1);
      pair.destroy();
    }
  });
}

function eventWord() {
  const word = new Int32Array(new ArrayBuffer(8));
  return { word, event: { device: Healthy, handle: memoryRange(word).addr } };
}

for (const kind of ['vram', 'dram'] as const) {
  test(`staging: a source in ${kind} is not read before its event has happened`, () => {
    const pair = new LanePair({ seed: 6, channels: 2, chunkBytes: 4096, hasGpus: true });
    const local = kind === 'vram' ? addGpuRegion(pair.a, BYTES) : addRegion(pair.a, BYTES);
    const remote = addGpuRegion(pair.b, BYTES);
    addGpuRegion(pair.a, 16);
    const { word, event } = eventWord();
    const blocks = [block(local.region, remote.region, BYTES)];
    const slot = pair.a.post('write', blocks, undefined, event);
    for (let steps = 0; steps < 500; steps++) {
      pair.a.step();
      pair.b.step();
    }
    assert.ok(!pair.a.isFinished(slot));
    assert.ok(pair.a.core.staging.isPending, 'the lane looks again soon');
    fillPattern(local.memory, 3);
    word[0] = 1;
    assert.equal(pair.finish(slot), 0);
    assert.equal(findMismatch(remote.memory, 3), -1);
    pair.destroy();
  });
}

test('staging: an event that fails, fails its transfer; a cancelled one waits for no event', () => {
  const pair = new LanePair({ seed: 8, chunkBytes: 4096, hasGpus: true });
  const local = addGpuRegion(pair.a, BYTES);
  const remote = addGpuRegion(pair.b, BYTES);
  const blocks = [block(local.region, remote.region, BYTES)];
  const { word, event } = eventWord();
  const cancelled = pair.a.post('write', blocks, undefined, event);
  pair.settle();
  pair.a.cancel(cancelled);
  assert.equal(pair.finish(cancelled), FAIL_CANCELLED);
  const failing = pair.a.post('write', blocks, undefined, event);
  pair.settle();
  word[0] = 2;
  assert.equal(pair.finish(failing), FAIL_DEVICE);
  assert.equal(pair.finish(pair.a.post('write', blocks)), 0);
  pair.destroy();
});

test('staging: after a cancelled transfer has settled no byte of it lands, on every seed', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const operation = seed % 2 === 0 ? 'write' : 'read';
    const pair = new LanePair({ seed, channels: 2, chunkBytes: 4096, link: LINK, hasGpus: true });
    const local = addGpuRegion(pair.a, BYTES);
    const remote = addGpuRegion(pair.b, BYTES);
    const [source, target] =
      operation === 'write' ? [local.memory, remote.memory] : [remote.memory, local.memory];
    source.fill(1);
    const slot = pair.a.post(operation, [block(local.region, remote.region, BYTES)]);
    for (let steps = 0; steps < seed * 4; steps++) {
      pair.a.step();
      pair.b.step();
    }
    pair.a.cancel(slot);
    assert.equal(pair.finish(slot), FAIL_CANCELLED, `seed ${seed}`);
    const landed = target.slice();
    source.fill(2);
    pair.settle();
    assert.ok(Buffer.from(target).equals(landed), `seed ${seed}: a late byte`);
    assertSlotsFree(pair.a);
    assertSlotsFree(pair.b);
    pair.destroy();
  }
});

test('staging: a channel that ends gives every slot and region back, at every moment', () => {
  for (let seed = 1; seed <= 40; seed++) {
    const pair = new LanePair({ seed, channels: 2, chunkBytes: 4096, link: LINK, hasGpus: true });
    const a = addGpuRegion(pair.a, BYTES);
    const b = addGpuRegion(pair.b, BYTES);
    const slots = (['write', 'read'] as const).map((operation) =>
      pair.a.post(operation, [block(a.region, b.region, BYTES)]),
    );
    const back = pair.b.post('read', [block(b.region, a.region, BYTES)]);
    for (let steps = 0; steps < seed * 3; steps++) {
      pair.a.step();
      pair.b.step();
    }
    for (const end of [pair.a, pair.b]) {
      end.command(COMMAND_CLOSE_SESSION, [0]);
      end.step();
    }
    for (const slot of slots) {
      assert.ok(pair.a.isFinished(slot), `seed ${seed}`);
      assert.ok([0, FAIL_CHANNEL].includes(pair.a.transfers.failure(slot)));
    }
    assert.ok(pair.b.isFinished(back));
    assert.equal(pair.a.regions.users(a.region), 0);
    assert.equal(pair.b.regions.users(b.region), 0);
    assertSlotsFree(pair.a);
    assertSlotsFree(pair.b);
    pair.destroy();
  }
});

for (const operation of ['write', 'read'] as const) {
  test(`staging: a bit flipped under a ${operation} of GPU memory is found, and goes again`, () => {
    for (let seed = 1; seed <= 10; seed++) {
      const pair = new LanePair({ seed, chunkBytes: 16384, isChecked: true, hasGpus: true });
      const local = addGpuRegion(pair.a, BYTES);
      const remote = addGpuRegion(pair.b, BYTES);
      const isWrite = operation === 'write';
      const [source, target] = isWrite ? [local, remote] : [remote, local];
      fillPattern(source.memory, seed);
      const link = pair.links[0]!;
      const pipe = isWrite ? link.toB : link.toA;
      // Inside the payload of the second chunk.
      pipe.flipAt = 2 * 64 + 16384 + 100 + seed;
      const slot = pair.a.post(operation, [block(local.region, remote.region, BYTES)]);
      assert.equal(pair.finish(slot), 0, `seed ${seed}`);
      assert.equal(findMismatch(target.memory, seed), -1, `seed ${seed}`);
      assert.equal(pair.a.transfers.damaged(slot).count, 1, `seed ${seed}: it was found`);
      pair.settle();
      assertSlotsFree(pair.a);
      assertSlotsFree(pair.b);
      pair.destroy();
    }
  });
}
