// A flood of notifications at a main thread that does not look: held back, not lost, in order.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, openPair } from '../../test/support/engine-pair.js';
import { sleepMs } from '../base/clock.js';

after(closeEngines);

const COUNT = 200;
const BYTES = 16 * 1024;

for (const lanes of [1, 3]) {
  test(`notifications: a busy main thread holds the sender back, ${lanes} lanes`, async () => {
    const pair = await openPair({
      'lane.progress': 'lanes',
      'lane.count': lanes,
      'flow.channels': lanes,
    });
    const message = new Uint8Array(BYTES);
    const transfers = Array.from({ length: COUNT }, (_, index) => {
      new DataView(message.buffer).setUint32(0, index);
      return pair.session.notify(message);
    });
    // Both engines share this thread: blocking it here stops everybody's main thread.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
    for (const transfer of transfers) transfer.poll();
    const waiting = transfers.filter((transfer) => transfer.status === 'active').length;
    assert.ok(waiting > 20, `${waiting} of ${COUNT} wait: the event ring holds no more`);
    await Promise.all(transfers.map((transfer) => transfer.done));
    while (pair.notifications.length < COUNT) await sleepMs(1);
    pair.notifications.forEach(({ bytes }, index) => {
      assert.equal(new DataView(bytes.buffer).getUint32(0), index, 'in order');
      assert.equal(bytes.length, BYTES);
    });
    await pair.close();
  });
}

test('notifications: data of other transfers moves on while notifications wait', async () => {
  const pair = await openPair({ 'lane.progress': 'lanes', 'flow.channels': 2 });
  const local = pair.client.register(new Uint8Array(1_000_000).fill(7));
  const memory = new Uint8Array(1_000_000);
  const remote = pair.server.register(memory).descriptor;
  const floods = Array.from({ length: COUNT }, () => pair.session.notify(new Uint8Array(BYTES)));
  const blocks = [{ local, localOffset: 0, remote, remoteOffset: 0, bytes: 1_000_000 }];
  const write = pair.session.write(blocks);
  await Promise.all([...floods, write].map((transfer) => transfer.done));
  assert.ok(memory.every((byte) => byte === 7));
  while (pair.notifications.length < COUNT) await sleepMs(1);
  await pair.close();
});

test('notifications: a handler may poll, post and wait without being called twice', async () => {
  const heard: string[] = [];
  const pair = await openPair({ 'lane.progress': 'caller' });
  const local = pair.server.register(new Uint8Array(1000).fill(1));
  const memory = new Uint8Array(1000);
  const remote = pair.client.register(memory).descriptor;
  const blocks = [{ local, localOffset: 0, remote, remoteOffset: 0, bytes: 1000 }];
  // The server's handler of this pair only records; act on what it recorded, as a handler would.
  const push = pair.notifications.push.bind(pair.notifications);
  pair.notifications.push = (...items) => {
    for (const { bytes, session } of items) {
      heard.push(new TextDecoder().decode(bytes));
      const answer = session.write(blocks);
      while (answer.poll() === 'active') pair.client.poll();
      assert.equal(answer.status, 'done');
    }
    return push(...items);
  };
  await pair.drive(Promise.all(['a', 'b', 'c'].map((text) => pair.session.notify(text).done)));
  while (heard.length < 3) await pair.drive(sleepMs(1));
  assert.deepEqual(heard, ['a', 'b', 'c']);
  assert.equal(memory[999], 1);
  await pair.close();
});
