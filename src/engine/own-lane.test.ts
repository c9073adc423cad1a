// Two engines whose threads have lanes of their own, given turns by hand.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { sleepMs } from '../base/clock.js';
import { silentLog } from '../base/log.js';
import { Engine, turnsOf } from './engine.js';

const SMALL = 4096;
const LARGE = 1024 * 1024;
const OWN_CHANNEL = 1;
const TURNS_MAX = 1_000_000;
/** Some turns of the event loop, in which nothing comes. */
const QUIET_MS = 5;

async function openPair(t: TestContext) {
  const settings = { 'session.local': 'tcp', 'lane.count': 1, 'flow.channels': 2 } as const;
  const notifications: string[] = [];
  const open = (name: string) =>
    Engine.open({
      ...{ name, settings, log: silentLog, hasOwnLane: true },
      onNotification: ({ text }) => notifications.push(text),
    });
  const [near, far] = await Promise.all([open('near'), open('far')]);
  t.after(() => Promise.all([near.close(), far.close()]));
  const memory = new Uint8Array(LARGE);
  far.register(memory, { name: 'there' });
  const session = await near.connect('127.0.0.1', far.listen('127.0.0.1:0'));
  const remote = await session.lookup('there');
  return { near: turnsOf(near), far: turnsOf(far), session, remote, memory, notifications };
}

/** Nothing but turns: the event loop has none. */
function turnUntil(turns: readonly { turn(): number }[], isOver: () => boolean): void {
  for (let count = 0; !isOver(); count++) {
    assert.ok(count < TURNS_MAX, 'turns move it');
    for (const one of turns) one.turn();
  }
}

test('own lane: held, it moves what is small by turns alone, without threads', async (t) => {
  const { near, far, session, remote, memory, notifications } = await openPair(t);
  near.hold();
  far.hold();
  const local = new Uint8Array(SMALL).fill(7);
  const transfer = session.write({ local, remote }, { notify: 'landed' });
  turnUntil([near, far], () => transfer.status !== 'active' && notifications.length > 0);
  assert.deepEqual(notifications, ['landed']);
  assert.ok(memory.subarray(0, SMALL).every((byte) => byte === 7));
  const { channels } = await transfer;
  assert.deepEqual(
    channels.map(({ channel }) => channel),
    [OWN_CHANNEL],
  );
  const large = await session.write({ local: new Uint8Array(LARGE), remote });
  assert.ok(!large.channels.some(({ channel }) => channel === OWN_CHANNEL), 'for the threads');
});

test('own lane: let go of, it is told of what comes, and of the next after that', async (t) => {
  const { near, far, session, remote } = await openPair(t);
  near.hold();
  far.hold();
  while (!far.letGo()) far.turn();
  for (let round = 0; round < 20; round++) {
    const { toldCount } = far;
    const transfer = session.write({ local: new Uint8Array(SMALL), remote });
    while (transfer.status === 'active') {
      near.turn();
      await turnOfLoop();
    }
    await transfer;
    assert.ok(far.toldCount > toldCount, 'it had rested');
    await sleepMs(QUIET_MS);
  }
});
