// The end of channels in mid-transfer: everything in flight fails, nothing stays in use.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addRegion, block, LanePair } from '../../../../test/support/lane-pair.js';
import { FAIL_CHANNEL } from '../../../base/failure.js';
import { fillPattern } from '../../../base/pattern.js';
import {
  COMMAND_CLOSE_SESSION,
  EVENT_CHANNEL_DOWN,
  EVENT_FINISHED,
  EVENT_SESSION_CLOSED,
  LOSS_END_OF_STREAM,
  LOSS_SYSTEM,
} from './messages.js';

const BYTES = 300_000;

function start(seed: number, channels = 1) {
  const pair = new LanePair({
    seed,
    channels,
    chunkBytes: 8192,
    windowChunks: 4,
    link: { callBytesMax: 3000, pipeBytes: 65536 },
  });
  const a = addRegion(pair.a, BYTES);
  const b = addRegion(pair.b, BYTES);
  fillPattern(a.memory, 1);
  const slots = [
    pair.a.post('write', [block(a.region, b.region, BYTES)], Uint8Array.of(1)),
    pair.a.post('read', [block(a.region, b.region, BYTES)]),
    pair.a.post('write', [block(a.region, b.region, BYTES)]),
    pair.a.notify(new Uint8Array(1000)),
  ];
  const back = pair.b.post('read', [block(b.region, a.region, BYTES)]);
  return { pair, a, b, slots, back };
}

function closeSessions(pair: LanePair): void {
  for (const end of [pair.a, pair.b]) {
    end.command(COMMAND_CLOSE_SESSION, [0]);
    end.step();
  }
}

function assertAllFailed(run: ReturnType<typeof start>): void {
  const { pair, a, b, slots, back } = run;
  for (const slot of slots) {
    if (pair.a.eventsOf(EVENT_FINISHED).some((event) => event.words[0] === slot)) continue;
    assert.fail(`transfer ${slot} never finished`);
  }
  assert.ok(slots.some((slot) => pair.a.transfers.failure(slot) === FAIL_CHANNEL));
  assert.equal(pair.b.transfers.failure(back), FAIL_CHANNEL);
  assert.equal(pair.a.regions.users(a.region), 0, 'users at the initiator');
  assert.equal(pair.b.regions.users(b.region), 0, 'users at the target');
  assert.equal(pair.a.eventsOf(EVENT_SESSION_CLOSED).length, 1);
  assert.equal(pair.b.eventsOf(EVENT_SESSION_CLOSED).length, 1);
  for (const link of pair.links) assert.ok(link.a.isClosed && link.b.isClosed, 'ports are closed');
  assert.equal(pair.a.core.channels.length, 0);
}

for (const channels of [1, 2]) {
  test(`loss: the peer closes anywhere in mid-transfer, ${channels} channels`, () => {
    for (let seed = 1; seed <= 30; seed++) {
      const run = start(seed, channels);
      const steps = run.pair.random.nextBetween(1, 150);
      for (let step = 0; step < steps; step++) {
        (run.pair.random.nextChance(0.5) ? run.pair.a : run.pair.b).step();
      }
      run.pair.b.command(COMMAND_CLOSE_SESSION, [0]);
      run.pair.b.step();
      run.pair.settle();
      const lost = run.pair.a.eventsOf(EVENT_CHANNEL_DOWN);
      assert.equal(lost.length, channels, `seed ${seed}`);
      assert.ok(lost.every((event) => event.words[3] === LOSS_END_OF_STREAM));
      run.pair.a.command(COMMAND_CLOSE_SESSION, [0]);
      run.pair.a.step();
      assertAllFailed(run);
    }
  });
}

test('loss: a reset of one of two channels fails the session with its errno', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const run = start(seed, 2);
    for (let step = 0; step < 40 + seed; step++) {
      run.pair.a.step();
      run.pair.b.step();
    }
    run.pair.links[1]!.a.isReset = true;
    run.pair.a.step();
    const [lost] = run.pair.a.eventsOf(EVENT_CHANNEL_DOWN);
    assert.deepEqual(lost?.words.slice(1, 5), [1, 0, LOSS_SYSTEM, 104]);
    closeSessions(run.pair);
    run.pair.settle();
    assertAllFailed(run);
  }
});

test('loss: what is posted on a closed session fails at once', () => {
  const pair = new LanePair();
  const a = addRegion(pair.a, 1000);
  const b = addRegion(pair.b, 1000);
  closeSessions(pair);
  const slots = [
    pair.a.post('write', [block(a.region, b.region, 1000)], Uint8Array.of(1)),
    pair.a.post('read', [block(a.region, b.region, 1000)]),
    pair.a.notify(new Uint8Array(0)),
  ];
  pair.a.step();
  for (const slot of slots) {
    assert.ok(pair.a.isFinished(slot));
    assert.equal(pair.a.transfers.failure(slot), FAIL_CHANNEL);
  }
});

test('loss: entries of lost transfers can be used again', () => {
  const pair = new LanePair();
  const a = addRegion(pair.a, 1000);
  const b = addRegion(pair.b, 1000);
  closeSessions(pair);
  for (let round = 0; round < 200; round++) {
    const slot = pair.a.post('write', [block(a.region, b.region, 10)]);
    pair.a.step();
    assert.ok(pair.a.isFinished(slot));
    pair.a.transfers.free(slot);
  }
});
