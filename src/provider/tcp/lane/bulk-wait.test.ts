// From how many bytes on a socket wakes its lane.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readUntold, setWakes } from './bulk-wait.hot.js';
import { ChannelReady } from './channel-ready.hot.js';
import { PHASE_HEAD, PHASE_PAYLOAD } from './intake.js';
import type { LaneCore } from './lane-core.js';

class OneChannel {
  readonly told: number[] = [];
  readonly channel = {
    port: { wakeAt: (bytes: number) => void this.told.push(bytes) },
    intake: { phase: PHASE_HEAD as number, payloadLeft: 0 },
    ready: new ChannelReady(),
  };
  // cast: the functions look at nothing else of a lane
  readonly core = { channels: [this.channel] } as unknown as LaneCore;

  expect(payloadLeft: number): void {
    this.channel.intake.phase = PHASE_PAYLOAD;
    this.channel.intake.payloadLeft = payloadLeft;
  }
}

test('wakes: never more than the rest of the payload', () => {
  for (const payloadLeft of [65_537, 100_000, 262_143, 262_144, 262_145, 4_194_304]) {
    const one = new OneChannel();
    one.expect(payloadLeft);
    setWakes(one.core, true);
    assert.equal(one.told.length, 1);
    assert.ok(one.channel.ready.wakeBytes > 1 && one.channel.ready.wakeBytes <= payloadLeft);
    assert.ok(one.channel.ready.wakeBytes <= 262_144);
    assert.deepEqual(one.told, [one.channel.ready.wakeBytes]);
  }
});

test('wakes: for a head, a message and a look without sleep every byte counts', () => {
  const one = new OneChannel();
  one.expect(1_000_000);
  setWakes(one.core, true);
  setWakes(one.core, false);
  assert.deepEqual(one.told, [262_144, 1]);
  one.expect(65_536);
  setWakes(one.core, true);
  one.channel.intake.phase = PHASE_HEAD;
  one.channel.intake.payloadLeft = 1_000_000;
  setWakes(one.core, true);
  assert.deepEqual(one.told, [262_144, 1], 'told only where it changes');
});

test('wakes: after a sleep that waited for bulk the socket is read without being told', () => {
  const one = new OneChannel();
  one.channel.ready.onEmpty();
  readUntold(one.core);
  assert.equal(one.channel.ready.isReadable, false);
  one.expect(1_000_000);
  setWakes(one.core, true);
  readUntold(one.core);
  assert.equal(one.channel.ready.isReadable, true);
});
