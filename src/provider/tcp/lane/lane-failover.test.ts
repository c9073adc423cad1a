// The end of a channel at the level of lanes: what was in flight is kept, settled by the peer's
// fence, confirmed or handed back, and nothing lands on a closed channel.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exchangeFences, resend } from '../../../../test/support/lane-fence.js';
import { addGpuRegion, addRegion, block, LanePair } from '../../../../test/support/lane-pair.js';
import { FAIL_STALE } from '../../../base/failure.js';
import {
  COMMAND_DROP_CHANNEL,
  COMMAND_SETTLE_CHANNEL,
  EVENT_CHANNEL_DOWN,
  EVENT_FINISHED,
  EVENT_NOTIFICATION,
} from './messages.js';

const BYTES = 1_000_000;

function pattern(seed: number): Uint8Array {
  return Uint8Array.from({ length: BYTES }, (_, index) => (index * 31 + seed) & 255);
}

const CASES = [
  { operation: 'write', memory: 'dram' },
  { operation: 'read', memory: 'dram' },
  { operation: 'write', memory: 'vram' },
  { operation: 'read', memory: 'vram' },
] as const;

for (const { operation, memory } of CASES) {
  const add = memory === 'vram' ? addGpuRegion : addRegion;
  // Copies on a simulated GPU take steps of their own.
  const stepsMax = memory === 'vram' ? 250 : 60;
  test(`failover: a ${operation} of ${memory} goes on elsewhere, exact and once`, () => {
    let handedBack = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const link = { callBytesMax: 50_000 };
      const isByTurns = seed % 2 === 0;
      const pair = new LanePair({ seed, channels: 2, link, isByTurns, hasGpus: memory === 'vram' });
      const a = add(pair.a, BYTES);
      const b = add(pair.b, BYTES);
      (operation === 'write' ? a : b).memory.set(pattern(seed));
      const slot = pair.a.post(operation, [block(a.region, b.region, BYTES)], Uint8Array.of(7));
      const steps = pair.random.nextBetween(2, stepsMax);
      for (let step = 0; step < steps; step++) {
        (pair.random.nextChance(0.5) ? pair.a : pair.b).step();
      }
      pair.a.command(COMMAND_DROP_CHANNEL, [0, 1, 0]);
      pair.a.step();
      // A stalled link that wakes up: what it still carried must not land once it is fenced.
      pair.b.command(COMMAND_DROP_CHANNEL, [0, 1, 0]);
      pair.b.step();
      exchangeFences(pair);
      pair.a.step();
      pair.b.step();
      handedBack += resend(pair.a);
      assert.equal(pair.finish(slot), 0, `seed ${seed}`);
      pair.settle();
      assert.deepEqual((operation === 'write' ? b : a).memory, pattern(seed), `seed ${seed}`);
      assert.equal(pair.a.eventsOf(EVENT_FINISHED).length, 1);
      assert.equal(pair.b.eventsOf(EVENT_NOTIFICATION).length, 1, `seed ${seed}`);
      assert.equal(pair.a.regions.users(a.region) + pair.b.regions.users(b.region), 0);
      pair.destroy();
    }
    // Chunks that were only staged stay in the lane and are not among these.
    const expected = memory === 'vram' ? 10 : 40;
    assert.ok(handedBack > expected, `${handedBack} chunks were in flight`);
  });
}

test('failover: a refusal that died with its channel fails the transfer all the same', () => {
  const pair = new LanePair({ channels: 2 });
  const a = addRegion(pair.a, 1000);
  const b = addRegion(pair.b, 1000);
  pair.b.regions.beginClose(b.region);
  const slot = pair.a.post('write', [block(a.region, b.region, 1000)]);
  pair.a.step();
  // The target refuses, but its answer stays in the link.
  pair.links.forEach((link) => (link.toA.isEnded = false));
  pair.b.step();
  const channel = pair.links.findIndex((link) => link.toA.sentBytes > 0);
  for (const end of [pair.a, pair.b]) {
    end.command(COMMAND_DROP_CHANNEL, [0, channel, 0]);
    // Only the command: the answer is not read any more.
    end.core.channels.forEach((one) => one.ready.onEmpty());
  }
  pair.b.step();
  pair.links[channel]!.toA.pull(pair.b.core.sink.addr, pair.links[channel]!.toA.sentBytes);
  pair.a.step();
  exchangeFences(pair);
  pair.a.step();
  assert.ok(pair.a.isFinished(slot));
  assert.equal(pair.a.transfers.failure(slot), FAIL_STALE);
  pair.destroy();
});

test('failover: a fence that claims more than was sent breaks a rule', () => {
  const pair = new LanePair({ channels: 2 });
  pair.a.command(COMMAND_DROP_CHANNEL, [0, 0, 0]);
  pair.a.step();
  pair.a.command(COMMAND_SETTLE_CHANNEL, [0, 0, 0, 5, 0, 0]);
  pair.a.step();
  const events = pair.a.eventsOf(EVENT_CHANNEL_DOWN);
  assert.equal(events.length, 2);
  assert.equal(events[1]?.words[4], 10);
  pair.destroy();
});
