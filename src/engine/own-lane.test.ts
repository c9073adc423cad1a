// Engines whose threads have lanes of their own: those of threads that do nothing else, given turns
// by hand, and those of programs, which poll or do not.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { until } from '../../test/support/until.js';
import { sleepMs } from '../base/clock.js';
import { silentLog } from '../base/log.js';
import type { SettingValues } from '../base/settings.js';
import { Engine, turnsOf } from './engine.js';
import type { Session } from './session.js';
import type { Transfer } from './transfer.js';

const SMALL = 4096;
const LARGE = 1024 * 1024;
/** Behind two that were agreed on: what the client posts itself, and what the server does. */
const [CLIENTS, SERVERS] = [2, 3];
const TURNS_MAX = 1_000_000;
/** Some turns of the event loop, in which nothing comes. */
const QUIET_MS = 5;
const TOLD_MS = 12;

async function openPair(t: TestContext, isShared: boolean, more: Partial<SettingValues> = {}) {
  const settings = {
    'session.local': 'tcp',
    'lane.count': 1,
    'flow.channels': 2,
    ...more,
  } as const;
  const notifications: string[] = [];
  const served: Session[] = [];
  const open = (name: string) =>
    Engine.open({
      ...{ name, settings, log: silentLog, isServed: isShared },
      onSession: (session) => served.push(session),
      onNotification: ({ text }) => notifications.push(text),
    });
  const [near, far] = await Promise.all([open('near'), open('far')]);
  t.after(() => Promise.all([near.close(), far.close()]));
  const memory = new Uint8Array(LARGE);
  far.register(memory, { name: 'there' });
  const back = near.register(new Uint8Array(LARGE), { name: 'here' });
  const session = await near.connect('127.0.0.1', far.listen('127.0.0.1:0'));
  const remote = await session.lookup('there');
  await until('the session there', 5000, () => served.length > 0);
  const [answering] = served;
  assert.ok(answering !== undefined);
  return { near, far, session, answering, remote, back, memory, notifications };
}

type Pair = Awaited<ReturnType<typeof openPair>>;

const writeSmall = ({ session, remote }: Pair): Transfer =>
  session.write({ local: new Uint8Array(SMALL), remote });

async function channelsOf(transfer: Transfer): Promise<number[]> {
  const { channels } = await transfer;
  return channels.map(({ channel }) => channel);
}

/** Until small posts of a thread that polls go over this channel; it is made when one wants it. */
async function untilOver(channel: number, post: () => Transfer): Promise<void> {
  for (let posts = 0; ; posts++) {
    assert.ok(posts < 1000, 'the channel comes');
    const transfer = post();
    while (transfer.poll() === 'active') await turnOfLoop();
    if ((await channelsOf(transfer)).includes(channel)) return;
    await turnOfLoop();
  }
}

/** Nothing but turns: the event loop has none. */
function turnUntil(turns: readonly { turn(): number }[], isOver: () => boolean): void {
  for (let count = 0; !isOver(); count++) {
    assert.ok(count < TURNS_MAX, 'turns move it');
    for (const one of turns) one.turn();
  }
}

test('own lane: held, it moves what is small by turns alone, without threads', async (t) => {
  const pair = await openPair(t, true);
  const { session, remote, memory, notifications } = pair;
  await untilOver(CLIENTS, () => writeSmall(pair));
  const [near, far] = [turnsOf(pair.near), turnsOf(pair.far)];
  near.hold();
  far.hold();
  const local = new Uint8Array(SMALL).fill(7);
  const transfer = session.write({ local, remote }, { notify: 'landed' });
  turnUntil([near, far], () => transfer.status !== 'active' && notifications.length > 0);
  assert.deepEqual(notifications, ['landed']);
  assert.ok(memory.subarray(0, SMALL).every((byte) => byte === 7));
  assert.deepEqual(await channelsOf(transfer), [CLIENTS]);
  const large = session.write({ local: new Uint8Array(LARGE), remote });
  assert.ok(!(await channelsOf(large)).includes(CLIENTS), 'for the threads');
});

test('own lane: let go of, it is told of what comes, and of the next after that', async (t) => {
  const pair = await openPair(t, true);
  await untilOver(CLIENTS, () => writeSmall(pair));
  const [near, far] = [turnsOf(pair.near), turnsOf(pair.far)];
  near.hold();
  far.hold();
  while (!far.letGo()) far.turn();
  for (let round = 0; round < 20; round++) {
    const { toldCount } = far;
    const transfer = writeSmall(pair);
    while (transfer.status === 'active') {
      near.turn();
      await turnOfLoop();
    }
    await transfer;
    assert.ok(far.toldCount > toldCount, 'it had rested');
    await sleepMs(QUIET_MS);
  }
});

test('own lane: of a program, for what it polls; what it awaits is for threads', async (t) => {
  const pair = await openPair(t, false);
  await untilOver(CLIENTS, () => writeSmall(pair));
  // The thread still seems to poll; it shows by the first of them that it sleeps.
  for (let posts = 0; (await channelsOf(writeSmall(pair))).includes(CLIENTS); posts++) {
    assert.ok(posts < 50, 'nobody polls');
  }
  const { session, answering, back } = pair;
  await untilOver(CLIENTS, () => writeSmall(pair));
  const large = session.write({ local: new Uint8Array(LARGE), remote: pair.remote });
  assert.ok(!(await channelsOf(large)).includes(CLIENTS));
  const local = new Uint8Array(SMALL);
  await untilOver(SERVERS, () => answering.write({ local, remote: back.descriptor }));
});

test('own lane: a peer’s posts land while the program does something else', async (t) => {
  const pair = await openPair(t, false);
  const { answering, back } = pair;
  const local = new Uint8Array(SMALL).fill(9);
  const post = (): Transfer => answering.write({ local, remote: back.descriptor });
  await untilOver(SERVERS, post);
  pair.far.progress();
  const transfer = post();
  // Both ends are in this process: neither has a turn of the event loop, and near never polls.
  while (transfer.poll() === 'active') continue;
  assert.deepEqual(await channelsOf(transfer), [SERVERS]);
});

test('own lane: a thread that blocks in wait is told by its own lane', async (t) => {
  const pair = await openPair(t, false, { 'lane.spinUs': 0 });
  await untilOver(CLIENTS, () => writeSmall(pair));
  for (let round = 0; round < 100; round++) {
    const transfer = writeSmall(pair);
    assert.equal(transfer.wait(5000), 'done');
  }
});

/** More than the own lane takes: those behind wait for those before. */
const MESSAGES = 60;

test('own lane: messages that wait keep their place when channels come', async (t) => {
  // One channel on each lane: two of one lane take messages in turn.
  const pair = await openPair(t, false, { 'lane.count': 2 });
  const { session, answering, back, notifications } = pair;
  await untilOver(CLIENTS, () => writeSmall(pair));
  pair.near.progress();
  const sent = Array.from({ length: MESSAGES }, (_, index) => session.notify(String(index)));
  // The peer's own channel comes meanwhile.
  const local = new Uint8Array(SMALL);
  const post = (): Transfer => answering.write({ local, remote: back.descriptor });
  for (let posts = 0; posts < 1000; posts++) {
    const transfer = post();
    while (transfer.poll() === 'active') await turnOfLoop();
    if ((await channelsOf(transfer)).includes(SERVERS)) break;
  }
  await Promise.all(sent);
  await until('all are told', 5000, () => notifications.length === MESSAGES);
  assert.deepEqual(notifications.map(Number), [...Array(MESSAGES).keys()]);
});

test('own lane: messages that waited, and were given up, hold nothing', async (t) => {
  const pair = await openPair(t, false, { 'memory.transfersMax': 2 * MESSAGES });
  await untilOver(CLIENTS, () => writeSmall(pair));
  for (let round = 0; round < 20; round++) {
    pair.near.progress();
    const sent = Array.from({ length: MESSAGES }, () => pair.session.notify('given up'));
    for (const message of sent) message.cancel();
    await Promise.allSettled(sent.map(({ released }) => released));
  }
  const session = await pair.near.connect('127.0.0.1', pair.far.port);
  for (let round = 0; round < 2; round++) {
    await untilOver(CLIENTS, () =>
      session.write({ local: new Uint8Array(SMALL), remote: pair.remote }),
    );
    pair.near.progress();
    const sent = Array.from({ length: MESSAGES }, () => session.notify('closed'));
    const ended = Promise.allSettled(sent);
    if (round === 1) await session.close();
    await ended;
  }
  const last = Array.from({ length: 2 * MESSAGES }, () => pair.session.notify('all entries'));
  await Promise.all(last);
});

test('own lane: a poll amid what is awaited keeps nobody from being told', async (t) => {
  const settings = { 'session.local': 'tcp', 'lane.count': 1 } as const;
  const near = await Engine.open({ name: 'near', settings, log: silentLog });
  // Answers when it is polled.
  const slow = { ...settings, 'lane.progress': 'caller' } as const;
  const far = await Engine.open({ name: 'far', settings: slow, log: silentLog });
  const driving = setInterval(() => far.poll(), 3);
  t.after(async () => {
    clearInterval(driving);
    await Promise.all([near.close(), far.close()]);
  });
  far.register(new Uint8Array(SMALL), { name: 'there' });
  const session = await near.connect('127.0.0.1', far.listen('127.0.0.1:0'));
  const remote = await session.lookup('there');
  const post = (): Transfer => session.write({ local: new Uint8Array(SMALL), remote });
  await untilOver(1, post);
  const tookMs: number[] = [];
  for (let round = 0; round < 21; round++) {
    near.progress();
    const transfer = post();
    await sleepMs(1);
    transfer.poll();
    const startedMs = performance.now();
    await transfer;
    tookMs.push(performance.now() - startedMs);
  }
  // A lane looks at its sets twenty times a second even where nothing has told it.
  const told = tookMs.filter((ms) => ms < TOLD_MS).length;
  assert.ok(told > tookMs.length / 2, tookMs.map(Math.round).join());
});

test('own lane: off, everything is for threads', async (t) => {
  const pair = await openPair(t, false, { 'lane.own': 'off' });
  for (let round = 0; round < 50; round++) {
    const transfer = writeSmall(pair);
    while (transfer.poll() === 'active') await turnOfLoop();
    assert.ok((await channelsOf(transfer)).every((channel) => channel < CLIENTS));
  }
});
