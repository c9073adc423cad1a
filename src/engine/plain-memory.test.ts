// Buffers and typed arrays as they are, in place of a region of this end: registered for the
// transfer alone.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, openEngine } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import type { Session } from './session.js';

after(closeEngines);

const usage = withCode('ERR_USAGE_ARGUMENT');

async function pair(settings: Parameters<typeof openEngine>[0] = {}) {
  const server = await openEngine(settings);
  const client = await openEngine(settings);
  const session = await client.connect(`127.0.0.1:${server.listen('127.0.0.1:0')}`);
  return { server, client, session };
}

async function copyOf(session: Session, inbox: Uint8Array, local: ArrayBufferView | ArrayBuffer) {
  inbox.fill(0);
  await session.write({ local, remote: await session.lookup('inbox') });
  return inbox.subarray(0, local.byteLength);
}

test('plain memory: a write takes every kind of it, a read fills it', async () => {
  const { server, session } = await pair();
  const inbox = new Uint8Array(64);
  server.register(inbox, { name: 'inbox' });
  const text = Buffer.from('a buffer of the pool');
  assert.deepEqual(await copyOf(session, inbox, text), new Uint8Array(text));
  const floats = Float64Array.of(1.5, -2);
  assert.deepEqual(await copyOf(session, inbox, floats), new Uint8Array(floats.buffer));
  const whole = new Uint8Array([1, 2, 3, 4]);
  assert.deepEqual(await copyOf(session, inbox, whole.buffer), whole);
  const view = new DataView(whole.buffer, 1, 2);
  assert.deepEqual(await copyOf(session, inbox, view), new Uint8Array([2, 3]));
  const shared = new Uint8Array(new SharedArrayBuffer(3)).fill(9);
  const remote = await session.lookup('inbox');
  await session.write({ local: shared.buffer, remote, remoteOffset: 61 });
  const back = Buffer.alloc(3);
  await session.read({ local: back, remote, remoteOffset: 61 });
  assert.deepEqual(back, Buffer.from([9, 9, 9]));
});

test('plain memory: offsets count from the view; blocks of one buffer are one region', async () => {
  const { server, client, session } = await pair({ 'memory.regionsMax': 16 });
  const inbox = new Uint8Array(200);
  server.register(inbox, { name: 'inbox' });
  const remote = await session.lookup('inbox');
  const bytes = Uint8Array.from({ length: 200 }, (_, at) => at);
  const blocks = Array.from({ length: 20 }, (_, at) => ({
    local: bytes.subarray(at * 10, at * 10 + 10),
    localOffset: 2,
    bytes: 5,
    remote,
    remoteOffset: at * 10,
  }));
  await session.write(blocks);
  for (let at = 0; at < 20; at++) {
    const landed = [...inbox.subarray(at * 10, at * 10 + 5)];
    assert.deepEqual(
      landed,
      [2, 3, 4, 5, 6].map((n) => n + at * 10),
    );
  }
  const local = client.register(bytes);
  await session.write([
    { local, remote, bytes: 1 },
    { local: new Uint8Array(1), remote },
  ]);
});

test('plain memory: nothing stays registered, whatever became of the transfer', async () => {
  const { server, client, session } = await pair({ 'memory.regionsMax': 16 });
  server.register(new Uint8Array(8), { name: 'open' });
  server.register(new Uint8Array(8), { name: 'shut', rights: { read: false, write: false } });
  const open = await session.lookup('open');
  const shut = await session.lookup('shut');
  for (let round = 0; round < 20; round++) {
    await session.write({ local: new Uint8Array(8), remote: open });
    await assert.rejects(async () => session.write({ local: Buffer.alloc(8), remote: shut }));
    assert.throws(() => session.write({ local: new Uint8Array(9), remote: open }), usage);
    const blocks = [
      { local: new Uint8Array(8), remote: open },
      { local: 5, remote: open },
    ];
    assert.throws(() => session.write(blocks as never), usage);
    const request = session.prepare('write', { local: new Uint8Array(8), remote: open });
    await request.post();
    await request.post();
    request.release();
  }
  for (let count = 0; count < 16; count++) client.register(new Uint8Array(1));
});

test('plain memory: an engine that closes with such a transfer in flight is closed', async () => {
  const { server, client, session } = await pair({ 'lane.progress': 'caller' });
  server.register(new Uint8Array(4_000_000), { name: 'big' });
  const looking = setInterval(() => server.poll(), 1);
  const remote = await session.lookup('big');
  clearInterval(looking);
  const transfer = session.write({ local: new Uint8Array(4_000_000), remote });
  const failed = assert.rejects(async () => await transfer);
  await client.close();
  await failed;
});

test('plain memory: what may move, is empty or is no memory is refused by name', async () => {
  const { server, session } = await pair();
  server.register(new Uint8Array(8), { name: 'inbox' });
  const remote = await session.lookup('inbox');
  const write = (local: unknown) => () => session.write({ local, remote } as never);
  const growing = new ArrayBuffer(4, { maxByteLength: 8 });
  const moving = withCode('ERR_USAGE_ARGUMENT', /block 0: local: .*resizable/);
  assert.throws(write(growing), moving);
  assert.throws(write(new Uint8Array(growing)), moving);
  assert.throws(write(new Uint8Array(0)), withCode('ERR_USAGE_ARGUMENT', /block 0: .*1 byte/));
  const gone = new Uint8Array(8);
  structuredClone(gone, { transfer: [gone.buffer] });
  assert.throws(write(gone), usage);
  for (const wrong of ['text', 5, null, undefined, {}, [1, 2], new Blob([])]) {
    assert.throws(write(wrong), withCode('ERR_USAGE_ARGUMENT', /Buffer/));
  }
});

test('plain memory: messages are text or bytes, and options what they say', async () => {
  const { session } = await pair();
  await session.notify(Float32Array.of(1) as never);
  for (const wrong of [5, {}, null, undefined]) {
    assert.throws(() => session.notify(wrong as never), usage);
  }
  const local = new Uint8Array(1);
  const block = { local, remote: { slot: 0, generation: 1, bytes: 1, key: '00' } };
  for (const wrong of [
    { deadlineMs: Number.NaN },
    { deadlineMs: -1 },
    { signal: {} },
    { notify: 5 },
    { dedlineMs: 5 },
  ]) {
    assert.throws(() => session.write(block, wrong as never), usage, JSON.stringify(wrong));
  }
});
