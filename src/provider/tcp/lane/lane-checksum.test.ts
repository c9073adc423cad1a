// Damage in flight: a checksum finds it, the chunk goes again, and what finishes is exact.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addRegion, block, LanePair } from '../../../../test/support/lane-pair.js';
import { FAIL_CHECKSUM } from '../../../base/failure.js';
import { DATA_HEAD_BYTES } from '../../../wire/data-frame.js';
import { EVENT_NOTIFICATION } from './messages.js';

const BYTES = 500_000;

function source(seed: number): Uint8Array {
  return Uint8Array.from({ length: BYTES }, (_, index) => (index * 7 + seed) & 255);
}

function start(operation: 'write' | 'read', seed: number, channels = 1, isChecked = true) {
  const pair = new LanePair({
    seed,
    channels,
    isChecked,
    link: { callBytesMax: 30_000, pipeBytes: 20_000 },
  });
  const a = addRegion(pair.a, BYTES);
  const b = addRegion(pair.b, BYTES);
  (operation === 'write' ? a : b).memory.set(source(seed));
  const target = operation === 'write' ? b.memory : a.memory;
  const blocks = [block(a.region, b.region, 1000), block(a.region, b.region, 400_000, 1000, 1000)];
  blocks.push(block(a.region, b.region, BYTES - 401_000, 401_000, 401_000));
  const slot = pair.a.post(operation, blocks, Uint8Array.of(1));
  return { pair, slot, target };
}

for (const operation of ['write', 'read'] as const) {
  test(`checksum: a flipped bit of a ${operation} is found, the chunk goes again`, () => {
    for (let seed = 1; seed <= 25; seed++) {
      const { pair, slot, target } = start(operation, seed, 1 + (seed % 2));
      for (const link of pair.links) {
        const pipe = operation === 'write' ? link.toB : link.toA;
        // Behind the first head, so that payload is hit and not the protocol.
        pipe.flipAt = 2000 + DATA_HEAD_BYTES + seed * 50;
      }
      assert.equal(pair.finish(slot), 0, `seed ${seed}`);
      pair.settle();
      assert.deepEqual(target, source(seed), `seed ${seed}`);
      assert.ok(pair.a.transfers.damaged(slot).count >= 1, `seed ${seed}: it was found`);
      assert.equal(pair.b.eventsOf(EVENT_NOTIFICATION).length, 1);
      pair.destroy();
    }
  });

  test(`checksum: without one the damage of a ${operation} stays`, () => {
    const { pair, slot, target } = start(operation, 3, 1, false);
    const link = pair.links[0]!;
    (operation === 'write' ? link.toB : link.toA).flipAt = 3000;
    assert.equal(pair.finish(slot), 0);
    assert.notDeepEqual(target, source(3));
    pair.destroy();
  });

  test(`checksum: damage that does not end fails the ${operation} and says where`, () => {
    const { pair, slot } = start(operation, 5);
    const link = pair.links[0]!;
    const pipe = operation === 'write' ? link.toB : link.toA;
    pair.run(() => {
      // The next byte that is sent belongs to the payload that is being received: it is hit.
      const receiver = operation === 'write' ? pair.b : pair.a;
      const underWay = pipe.sentBytes - pipe.receivedBytes;
      const left = receiver.core.channels[0]!.intake.payloadLeft - underWay;
      if (left > 1) pipe.flipAt = pipe.sentBytes;
      return pair.a.isFinished(slot);
    });
    assert.equal(pair.a.transfers.failure(slot), FAIL_CHECKSUM);
    assert.equal(pair.a.transfers.damaged(slot).channel, 0);
    assert.equal(pair.b.eventsOf(EVENT_NOTIFICATION).length, 0);
    pair.destroy();
  });
}
