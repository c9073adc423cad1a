// Which sends promise that their bytes stay: only those may go by reference.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addRegion, block, LanePair } from '../../../../test/support/lane-pair.js';
import { fillPattern, findMismatch } from '../../../base/pattern.js';

const BYTES = 300_000;

for (const operation of ['write', 'read'] as const) {
  const link = { callBytesMax: 9000, stallChance: 0.2, isByReference: true };
  const kind = operation === 'write' ? 'held' : 'not held, in answers below 128 KiB';
  test(`lane: payload of a ${operation} is sent as ${kind}`, () => {
    const pair = new LanePair({ seed: 3, link });
    const local = addRegion(pair.a, BYTES);
    const remote = addRegion(pair.b, BYTES);
    const [source, target] =
      operation === 'write' ? [local.memory, remote.memory] : [remote.memory, local.memory];
    fillPattern(source, 5);
    assert.equal(
      pair.finish(pair.a.post(operation, [block(local.region, remote.region, BYTES)])),
      0,
    );
    assert.equal(findMismatch(target, 5), -1);
    const [ends] = pair.links;
    assert.ok(ends !== undefined);
    if (operation === 'write') {
      assert.ok(ends.a.heldBytes >= BYTES, `${ends.a.heldBytes} held`);
      assert.equal(ends.a.unheldBytes, 0);
    } else {
      assert.ok(ends.b.unheldBytes >= BYTES, `${ends.b.unheldBytes} not held`);
      assert.ok(ends.b.heldBytes < BYTES / 10, `${ends.b.heldBytes} held`);
    }
    pair.destroy();
  });
}

test('lane: a vector with a short answer to a read holds none of its bytes', () => {
  const pair = new LanePair({ seed: 4, link: { isByReference: true } });
  const a = addRegion(pair.a, 2 * BYTES);
  const b = addRegion(pair.b, 2 * BYTES);
  const read = pair.a.post('read', [block(a.region, b.region, BYTES)]);
  pair.a.step(); // the request is on its way before the other end writes
  const write = pair.b.post('write', [block(b.region, a.region, BYTES, BYTES, BYTES)]);
  pair.b.step();
  assert.equal(pair.finish(read), 0);
  assert.equal(pair.finish(write, pair.b), 0);
  const [ends] = pair.links;
  assert.ok((ends?.b.unheldBytes ?? 0) >= 2 * BYTES, `${ends?.b.unheldBytes} not held`);
  pair.destroy();
});
