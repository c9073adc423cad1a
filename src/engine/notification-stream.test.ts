import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { type PeerNotification, ReceivedNotification } from './notification.js';
import { endStream, NotificationStream, pushTo } from './notification-stream.js';
import type { Session } from './session.js';

const MIB = 1024 * 1024;
const LIMITS = { countMax: 1000, bytesMax: 8 * MIB };

const note = (text: string): PeerNotification =>
  new ReceivedNotification({} as Session, Buffer.from(text));

const textOf = ({ bytes }: PeerNotification): string => Buffer.from(bytes).toString();

test('notification stream: in order, what came before and what comes while one waits', async () => {
  const stream = new NotificationStream(LIMITS, () => undefined);
  pushTo(stream, note('a'));
  pushTo(stream, note('b'));
  const heard: string[] = [];
  const loop = (async () => {
    for await (const one of stream) heard.push(textOf(one));
  })();
  await new Promise((resolve) => setImmediate(resolve));
  pushTo(stream, note('c'));
  endStream(stream);
  await loop;
  assert.deepEqual(heard, ['a', 'b', 'c']);
});

test('notification stream: leaving the loop lets the stream go', async () => {
  let ended = 0;
  const stream = new NotificationStream(LIMITS, () => ended++);
  pushTo(stream, note('a'));
  pushTo(stream, note('b'));
  for await (const one of stream) {
    assert.equal(textOf(one), 'a');
    break;
  }
  assert.equal(ended, 1);
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
});

test('notification stream: an error comes after what was kept', async () => {
  const stream = new NotificationStream(LIMITS, () => undefined);
  pushTo(stream, note('a'));
  endStream(stream, new Error('gone'));
  assert.equal((await stream.next()).done, false);
  await assert.rejects(stream.next(), /gone/);
  const waiting = new NotificationStream(LIMITS, () => undefined);
  const next = waiting.next();
  endStream(waiting, new Error('gone too'));
  await assert.rejects(next, /gone too/);
});

test('notification stream: one that is not taken is bounded', async () => {
  const stream = new NotificationStream(LIMITS, () => undefined);
  const big = new ReceivedNotification({} as Session, new Uint8Array(MIB));
  for (let count = 0; count < 20; count++) pushTo(stream, big);
  let kept = 0;
  await assert.rejects(
    async () => {
      for await (const one of stream) kept += one.bytes.length;
    },
    withCode('ERR_USAGE_STATE', /wait to be taken, more than memory\.streamBytes allows/),
  );
  assert.ok(kept <= 9 * MIB, `${kept}`);
  const many = new NotificationStream(LIMITS, () => undefined);
  for (let count = 0; count < 1001; count++) pushTo(many, note('a'));
  for (let count = 0; count < 1001; count++) await many.next();
  await assert.rejects(many.next(), withCode('ERR_USAGE_STATE', /memory\.streamMax/));
});
