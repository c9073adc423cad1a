import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addRegion, block, LanePair } from '../../../../test/support/lane-pair.js';
import { creditOf } from './credit.js';

const CHANNEL = { chunkBytesMax: 512 * 1024, windowChunks: 16 };
const MIB = 1024 * 1024;

test('credit: few senders have the whole window, many an equal share, nobody none', () => {
  assert.equal(creditOf(128 * MIB, 1, CHANNEL), 16);
  assert.equal(creditOf(128 * MIB, 16, CHANNEL), 16);
  assert.equal(creditOf(128 * MIB, 64, CHANNEL), 4);
  assert.equal(creditOf(128 * MIB, 1000, CHANNEL), 1);
  assert.equal(creditOf(1 * MIB, 5, CHANNEL), 1);
});

test('credit: a port is asked for with room for the whole window of its channel', () => {
  const pair = new LanePair({ channels: 2, chunkBytes: 65536, windowChunks: 3 });
  pair.settle();
  const asked = [pair.a, pair.b].flatMap(({ orders }) => orders.map((order) => order.windowBytes));
  assert.deepEqual(asked, new Array(4).fill(3 * 65536));
  pair.destroy();
});

for (const operation of ['write', 'read'] as const) {
  test(`credit: a ${operation} keeps within what the receiver takes, and ends`, () => {
    const chunkBytes = 65536;
    const pair = new LanePair({ channels: 2, chunkBytes, receiveBytes: 4 * chunkBytes });
    pair.settle();
    const a = addRegion(pair.a, 2_000_000);
    const b = addRegion(pair.b, 2_000_000);
    a.memory.fill(operation === 'write' ? 9 : 0);
    b.memory.fill(operation === 'write' ? 0 : 9);
    const slot = pair.a.post(operation, [block(a.region, b.region, 2_000_000)]);
    let most = 0;
    pair.run(() => {
      for (const { writes, reads } of pair.a.core.channels) {
        most = Math.max(most, writes.next - writes.acked, reads.next - reads.done);
      }
      return pair.a.isFinished(slot);
    });
    assert.equal(most, 2);
    assert.ok((operation === 'write' ? b : a).memory.every((byte) => byte === 9));
    pair.destroy();
  });
}
