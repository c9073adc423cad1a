import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { type PeerNotification, ReceivedNotification } from './notification.js';
import { NotificationStream } from './notification-stream.js';
import type { Session } from './session.js';

const note = (text: string): PeerNotification =>
  new ReceivedNotification({} as Session, Buffer.from(text));

const textOf = ({ bytes }: PeerNotification): string => Buffer.from(bytes).toString();

test('notification stream: in order, what came before and what comes while one waits', async () => {
  const stream = new NotificationStream(() => undefined);
  stream.push(note('a'));
  stream.push(note('b'));
  const heard: string[] = [];
  const loop = (async () => {
    for await (const one of stream) heard.push(textOf(one));
  })();
  await new Promise((resolve) => setImmediate(resolve));
  stream.push(note('c'));
  stream.end();
  await loop;
  assert.deepEqual(heard, ['a', 'b', 'c']);
});

test('notification stream: leaving the loop lets the stream go', async () => {
  let ended = 0;
  const stream = new NotificationStream(() => ended++);
  stream.push(note('a'));
  stream.push(note('b'));
  for await (const one of stream) {
    assert.equal(textOf(one), 'a');
    break;
  }
  assert.equal(ended, 1);
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
});

test('notification stream: an error comes after what was kept', async () => {
  const stream = new NotificationStream(() => undefined);
  stream.push(note('a'));
  stream.end(new Error('gone'));
  assert.equal((await stream.next()).done, false);
  await assert.rejects(stream.next(), /gone/);
  const waiting = new NotificationStream(() => undefined);
  const next = waiting.next();
  waiting.end(new Error('gone too'));
  await assert.rejects(next, /gone too/);
});

test('notification stream: one that is not taken is bounded', async () => {
  const stream = new NotificationStream(() => undefined);
  const big = new ReceivedNotification({} as Session, new Uint8Array(1024 * 1024));
  for (let count = 0; count < 100; count++) stream.push(big);
  let kept = 0;
  await assert.rejects(
    async () => {
      for await (const one of stream) kept += one.bytes.length;
    },
    withCode('ERR_USAGE_STATE', /wait to be taken/),
  );
  assert.ok(kept <= 65 * 1024 * 1024, `${kept}`);
});
