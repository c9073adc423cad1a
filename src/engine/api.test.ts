// What a newcomer types: each line does what it says, and what cannot be is named.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { inspect } from 'node:util';
import { closeEngines, openEngine } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { until } from '../../test/support/until.js';
import type { RegionSource } from '../memory/region.js';
import { Engine } from './engine.js';
import type { Session } from './session.js';
import type { Transfer } from './transfer.js';

after(closeEngines);

const SECRET = 'a secret that nobody prints';

async function pair(settings: Parameters<typeof openEngine>[0] = {}) {
  const called: Session[] = [];
  const server = await openEngine(settings, { onSession: (session) => called.push(session) });
  const port = server.listen('127.0.0.1:0');
  const client = await openEngine(settings);
  const session = await client.connect(`127.0.0.1:${port}`);
  return { server, client, session, port, called };
}

test('api: a file’s worth of bytes, by name, in a few lines', async () => {
  const { server, client, session } = await pair();
  const inbox = new Uint8Array(100_000);
  server.register(inbox, { name: 'inbox' });
  const remote = await session.lookup('inbox');
  const local = client.register(new Uint8Array(100_000).fill(7));
  const receipt = await session.write({ local, remote });
  assert.equal(receipt.bytesConfirmed, 100_000);
  assert.ok(inbox.every((byte) => byte === 7));
  const back = client.register(new Uint8Array(10));
  await session.read({ local: back, remote, remoteOffset: 99_990 });
  assert.deepEqual(back.source, new Uint8Array(10).fill(7));
});

test('api: awaiting a refused write rejects; one that is only polled raises nothing', async () => {
  const { server, client, session } = await pair();
  const closed = server.register(new Uint8Array(10), {
    name: 'closed',
    rights: { read: true, write: false },
  });
  const local = client.register(new Uint8Array(10));
  const remote = await session.lookup('closed');
  const denied = withCode('ERR_PEER_RIGHTS');
  await assert.rejects(async () => await session.write({ local, remote }), denied);
  const polled = session.write({ local, remote });
  await until('its end', 5000, () => polled.poll() !== 'active');
  assert.equal(polled.error?.code, 'ERR_PEER_RIGHTS');
  assert.equal(closed.bytes, 10);
});

test('api: a handle that an async function returns is awaited; in an object it stays', async () => {
  const { server, client, session } = await pair();
  server.register(new Uint8Array(10), { name: 'x' });
  const block = {
    local: client.register(new Uint8Array(10)),
    remote: await session.lookup('x'),
  };
  const awaited = await (async () => session.write(block))();
  assert.equal(awaited.bytesConfirmed, 10, 'a receipt');
  const post = async (): Promise<{ transfer: Transfer }> => {
    await Promise.resolve();
    return { transfer: session.write(block) };
  };
  const { transfer } = await post();
  assert.ok(['active', 'done'].includes(transfer.status), 'a handle');
  await transfer.finally(() => undefined);
});

test('api: progress grows to the whole while bytes are confirmed', async () => {
  const { server, client, session } = await pair({ 'flow.chunkBytes': 65_536 });
  const bytes = 64 * 1024 * 1024;
  server.register(new Uint8Array(bytes), { name: 'big' });
  const local = client.register(new Uint8Array(bytes));
  const transfer = session.write({ local, remote: await session.lookup('big') });
  const seen = new Set<number>();
  while (transfer.poll() === 'active') {
    seen.add(transfer.progress().bytesConfirmed);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const steps = [...seen];
  assert.deepEqual(
    steps,
    [...steps].sort((a, b) => a - b),
  );
  assert.ok(steps.length > 2, `${steps.length} steps`);
  assert.deepEqual(transfer.progress(), { bytesConfirmed: bytes, bytes });
});

test('api: a signal ends a transfer, a connect, a lookup and a stream as AbortError', async () => {
  const { server, client, session } = await pair({ 'lane.progress': 'caller' });
  const reason = new Error('enough');
  const isAbort = (error: unknown): boolean =>
    error instanceof Error && error.name === 'AbortError' && error.cause === reason;
  const block = {
    local: client.register(new Uint8Array(10_000_000)),
    remote: server.register(new Uint8Array(10_000_000)).descriptor,
  };
  const controller = new AbortController();
  const transfer = session.write(block, { signal: controller.signal });
  const lookup = session.lookup('never', { waitMs: 60_000, signal: controller.signal });
  const stream = client.notifications({ signal: controller.signal });
  const next = stream.next();
  const connect = client.connect('127.0.0.1:1', { signal: controller.signal, timeoutMs: 60_000 });
  controller.abort(reason);
  const ends = [transfer, lookup, next, connect].map((end) =>
    assert.rejects(async () => await end, isAbort),
  );
  const driving = setInterval(() => server.poll(), 1);
  await Promise.all(ends);
  clearInterval(driving);
});

test('api: connect takes a time, names of hosts and IPv6', async () => {
  const server = await openEngine({ 'session.bind': '::1' });
  const port = server.listen();
  const client = await openEngine();
  const session = await client.connect(`[::1]:${port}`);
  assert.equal(session.peerAddress, `[::1]:${port}`);
  await session.close();
  const startMs = performance.now();
  await assert.rejects(
    client.connect('127.0.0.1:1', { timeoutMs: 150 }),
    withCode('ERR_PEER_UNREACHABLE'),
  );
  assert.ok(performance.now() - startMs < 3000);
  await assert.rejects(client.connect('fd00::7:x'), withCode('ERR_USAGE_ARGUMENT', /\[v6\]:port/));
});

test('api: listen takes names of hosts; one that nobody knows is said so', async () => {
  const server = await openEngine();
  assert.throws(() => server.listen('no-such-host.invalid:0'), withCode('ERR_SYS_RESOLVE'));
  const port = server.listen('localhost:0');
  const client = await openEngine();
  const session = await client.connect(`localhost:${port}`);
  assert.ok(session.isReady);
  const web = 'http://127.0.0.1:1';
  await assert.rejects(client.connect(web), withCode('ERR_USAGE_ARGUMENT', /before :\/\//));
});

test('api: secrets and keys are in nothing that prints', async () => {
  const { server, client, session, called } = await pair({ 'trust.secret': SECRET });
  server.register(new Uint8Array(10), { name: 'x' });
  const remote = await session.lookup('x');
  const local = client.register(new Uint8Array(10));
  const transfer = session.write({ local, remote });
  await transfer;
  const request = session.prepare('write', { local, remote });
  const engines = [client, client.config, session, called[0]];
  const things = [...engines, transfer, local, local.slice(1), request, remote];
  for (const thing of things) {
    for (const showHidden of [false, true]) {
      const shown = inspect(thing, { depth: 12, showHidden, getters: true });
      assert.ok(!shown.includes(SECRET), shown.slice(0, 200));
      assert.ok(!shown.includes(local.descriptor.key), shown.slice(0, 200));
      assert.ok(!shown.includes(remote.key), shown.slice(0, 200));
    }
  }
  for (const thing of [...engines, transfer, local, local.slice(1), request]) {
    const json = JSON.stringify(thing);
    for (const hidden of [SECRET, local.descriptor.key, remote.key]) {
      assert.ok(!json.includes(hidden), json.slice(0, 200));
    }
  }
  assert.ok(JSON.stringify(remote).includes(remote.key), 'a descriptor is made to be sent');
  assert.match(JSON.stringify(session), /^\{"peer":"[^"]+","role":"client","state":"ready"/);
  assert.match(inspect(local), /^Region \{ \d+, 10 B, read and write \}$/);
  assert.match(inspect(request), /^TransferRequest \{ write of 10 B in 1 block, peer: /);
  for (const thing of [client.config, client.config.values]) {
    assert.ok(!JSON.stringify(thing).includes(SECRET));
    assert.ok(!/"key"/.test(JSON.stringify(thing)) || JSON.stringify(thing).includes('[hidden]'));
  }
  assert.equal(client.config.values['trust.secret'], SECRET, 'still there for the engine');
});

test('api: events of the end: in order without an error, a loss with one', async () => {
  const { server, session, called } = await pair();
  const heard: unknown[] = [];
  session.on('close', (error) => heard.push(error));
  const [atServer] = called;
  await atServer?.close();
  await session.closed;
  await until('the event', 2000, () => heard.length === 1);
  assert.deepEqual(heard, [undefined]);
  await assert.rejects(session.lookup('x'), withCode('ERR_PEER_GOODBYE'));
  const again = await session.reopen({ timeoutMs: 2000 });
  assert.ok(again.isReady && again !== session);
  await assert.rejects(again.reopen(), withCode('ERR_USAGE_STATE', /is open/));
  await server.close();
});

test('api: await using closes; notifications come by for await', async () => {
  const { server, client, port } = await pair();
  const stream = server.notifications();
  {
    await using session = await client.connect('127.0.0.1', port);
    await session.notify('one');
    await session.notify('two');
  }
  const texts: string[] = [];
  for await (const { text, bytes } of stream) {
    assert.equal(Buffer.from(bytes).toString(), text);
    texts.push(text);
    if (texts.length === 2) break;
  }
  assert.deepEqual(texts, ['one', 'two']);
});

test('api: arguments of a wrong kind are named', async () => {
  const { client, session } = await pair();
  const usage = withCode('ERR_USAGE_ARGUMENT');
  for (const wrong of [undefined, null, 5, 'text'] as unknown as RegionSource[]) {
    assert.throws(() => client.register(wrong), usage);
  }
  const memory = new Uint8Array(4);
  assert.throws(() => client.register(memory, { nam: 'x' } as never), usage);
  assert.throws(() => client.register(memory, 5 as never), usage);
  assert.throws(() => session.write(undefined as never), usage);
  assert.throws(() => session.write([]), usage);
  assert.throws(() => session.write([5] as never), usage);
  await assert.rejects(session.lookup(5 as never), usage);
  await assert.rejects(client.connect(undefined as never), usage);
  assert.throws(() => client.register([1, 2] as never), withCode('ERR_USAGE_ARGUMENT', /Buffer/));
  for (const rights of ['read', { write: true }, { read: 1, write: 0 }]) {
    assert.throws(() => client.register(memory, { rights } as never), usage);
  }
  for (const options of [5000, { timeoutMs: 5 }, { waitMs: -1 }]) {
    await assert.rejects(session.lookup('x', options as never), usage);
  }
  const meant = (name: string) => withCode('ERR_USAGE_ARGUMENT', new RegExp(`mean ${name}`));
  assert.throws(() => session.on('closed' as never, () => undefined), meant('close'));
  assert.throws(() => session.on('close', 5 as never), usage);
  assert.throws(() => client.listen({ prt: 5 } as never), meant('port'));
  await assert.rejects(Engine.open({ setings: {} } as never), meant('settings'));
  await assert.rejects(Engine.open('name' as never), usage);
  const block = { local: memory, remote: client.register(memory).descriptor, localOfset: 1 };
  assert.throws(() => session.write(block), meant('localOffset'));
  const port = client.listen(0);
  assert.ok(port > 0, 'a number is a port');
});
