// Staging slots that a peer may still read although it has confirmed them: none carries bytes of
// another session before it has other memory, and sessions that take turns seldom need that.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dataFrame, KIND } from '../../../../test/page-peer/page-peer.js';
import { LaneEnd } from '../../../../test/support/lane-end.js';
import { addGpuRegion, addRegion, block, LanePair } from '../../../../test/support/lane-pair.js';
import { createVirtualLink, destroyVirtualLink } from '../../../../test/support/virtual-link.js';
import { fillPattern, findMismatch } from '../../../base/pattern.js';
import { createFixedMemory, destroyFixedMemory } from '../../../os/fixed-memory.js';
import { COMMAND_CLOSE_SESSION } from './messages.js';

const CHUNK_BYTES = 32 * 1024;
const BYTES = 40 * CHUNK_BYTES + 777;
const SHAPE = { windowChunks: 4, chunkBytes: CHUNK_BYTES };

function openPair(seed: number): LanePair {
  return new LanePair({ seed, ...SHAPE, hasGpus: true, link: { isByReference: true } });
}

/** A confirmation of all that the end has sent, as a peer could give it that has taken nothing. */
function confirmUntaken({ a, links }: LanePair): void {
  const ack = dataFrame(false, { kind: KIND.ACK, acknowledged: a.core.channels[0]!.writes.next });
  const memory = createFixedMemory(4096);
  memory.uint8.set(ack);
  links[0]!.toA.push(memory.addr, ack.length);
  destroyFixedMemory(memory);
}

for (const who of ['another session', 'a later session of the same index']) {
  test(`slots: a peer that confirms what it has not taken sees nothing of ${who}`, () => {
    const pair = openPair(2);
    const secret = addGpuRegion(pair.a, BYTES);
    secret.memory.fill(0xee);
    const own = addGpuRegion(pair.a, BYTES);
    own.memory.fill(0x11);
    const remote = addGpuRegion(pair.b, BYTES);
    pair.a.post('write', [block(own.region, remote.region, 4 * CHUNK_BYTES)]);
    const { held } = pair.a.core.channels[0]!;
    while (held.flightHeld === 0) pair.a.step();
    for (let steps = 0; steps < 100; steps++) pair.a.step();
    const { toB } = pair.links[0]!;
    assert.ok(toB.sentBytes > CHUNK_BYTES && toB.receivedBytes === 0, 'nobody has taken it');
    confirmUntaken(pair);
    while (held.flightHeld > 0) pair.a.step();
    const index = who === 'another session' ? 1 : 0;
    if (index === 0) {
      pair.a.command(COMMAND_CLOSE_SESSION, [0]);
      pair.a.step();
    }
    const link = createVirtualLink({ random: pair.random, isByReference: true });
    const far = new LaneEnd({ channels: 1, ...SHAPE });
    pair.a.addChannel(link.a, index);
    far.addChannel(link.b);
    const target = addRegion(far, BYTES);
    const blocks = [block(secret.region, target.region, BYTES)];
    const slot = pair.a.post('write', blocks, undefined, undefined, index);
    while (!pair.a.isFinished(slot)) {
      pair.a.step();
      far.step();
    }
    assert.equal(pair.a.transfers.failure(slot), 0);
    assert.ok(target.memory.every((byte) => byte === 0xee));
    for (let steps = 0; steps < 1000; steps++) pair.b.step();
    assert.equal(toB.receivedBytes, toB.sentBytes, 'now it has been taken');
    assert.ok(remote.memory.includes(0x11) && !remote.memory.includes(0xee));
    far.destroy();
    pair.destroy();
    destroyVirtualLink(link);
  });
}

for (const others of [1, 2]) {
  test(`slots: ${others + 1} sessions that take turns renew few`, () => {
    const pair = openPair(6);
    const local = addGpuRegion(pair.a, BYTES);
    fillPattern(local.memory, others);
    const near = addGpuRegion(pair.b, BYTES);
    const far = Array.from({ length: others }, (_, index) => {
      const link = createVirtualLink({ random: pair.random, isByReference: true });
      const end = new LaneEnd({ channels: 1, ...SHAPE });
      pair.a.addChannel(link.a, index + 1);
      end.addChannel(link.b);
      return { link, end, target: addRegion(end, BYTES) };
    });
    const ends = [pair.a, pair.b, ...far.map(({ end }) => end)];
    const targets = [near, ...far.map(({ target }) => target)];
    for (let round = 0; round < 20; round++) {
      const slots = targets.map(({ region }, session) =>
        pair.a.post('write', [block(local.region, region, BYTES)], undefined, undefined, session),
      );
      while (!slots.every((slot) => pair.a.isFinished(slot))) for (const end of ends) end.step();
    }
    for (const { memory } of targets) assert.equal(findMismatch(memory, others), -1);
    const referred = far.reduce((sum, { link }) => sum + link.a.heldBytes, 0);
    assert.equal(referred > 0, others === 1, 'by reference while each can have its own');
    const { slotCount, queue } = pair.a.core.staging.stagers[0]!.out;
    assert.ok('renewals' in queue && typeof queue.renewals === 'number');
    assert.ok(queue.renewals <= slotCount, `${queue.renewals} of ${others * 820} chunks`);
    pair.destroy();
    for (const { end, link } of far) {
      end.destroy();
      destroyVirtualLink(link);
    }
  });
}
