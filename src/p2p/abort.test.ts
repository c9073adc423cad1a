// Waits of posted sends and receives, and of memory that is let go, end with their signal.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, openEngine } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { TcpxSession } from './tcpx-session.js';

after(closeEngines);

const reason = new Error('enough');
const isAbort = (error: unknown): boolean =>
  error instanceof Error && error.name === 'AbortError' && error.cause === reason;
const QUIET = { 'log.level': 'error' } as const;

test('p2p: accept, connect and wait end with their signal, and can be called again', async () => {
  const server = await TcpxSession.open({ name: 'server', settings: QUIET });
  const client = await TcpxSession.open({ name: 'client', settings: QUIET });
  const info = server.listen();
  const controller = new AbortController();
  const { signal } = controller;
  const accepted = server.accept('client', { timeoutMs: 60_000, signal });
  setTimeout(() => controller.abort(reason), 10);
  await assert.rejects(accepted, isAbort);
  await assert.rejects(server.accept('client', { signal }), isAbort);
  client.loadRemoteConnInfo('server', info);
  await assert.rejects(client.connect('server', { signal }), isAbort);
  await Promise.all([server.accept('client', 5000), client.connect('server', { timeoutMs: 5000 })]);

  const id = server.registerMemory(new Uint8Array(8));
  const receiving = server.createTransfer('client');
  receiving.postRecv(id, 0, 8, 1);
  await assert.rejects(receiving.wait({ timeoutMs: 60_000, signal }), isAbort);
  const later = new AbortController();
  const waiting = receiving.wait({ signal: later.signal });
  later.abort(reason);
  await assert.rejects(waiting, isAbort);
  const sending = client.createTransfer('server');
  sending.postSend(client.registerMemory(Buffer.alloc(8)), 0, 8, 1);
  await Promise.all([receiving.wait(5000), sending.wait()]);
  await Promise.all([server.close(), client.close()]);
});

test('p2p: what a wait is given is checked', async () => {
  const server = await TcpxSession.open({ name: 'server', settings: QUIET });
  server.listen();
  const wrong = withCode('ERR_USAGE_ARGUMENT');
  await assert.rejects(server.accept('x', { timeout: 5 } as never), wrong);
  await assert.rejects(server.accept('x', { signal: 5 } as never), wrong);
  await assert.rejects(server.accept('x', Number.NaN), wrong);
  await server.close();
});

test('engine: deregister ends with its signal, and the region stays', async () => {
  const server = await openEngine({ 'lane.progress': 'caller' });
  const client = await openEngine({ 'lane.progress': 'caller' });
  const connecting = client.connect('127.0.0.1', server.listen({ port: 0 }));
  const session = await server.drive(connecting);
  const local = client.register(new Uint8Array(100_000));
  const remote = server.register(new Uint8Array(100_000)).descriptor;
  const transfer = session.write({ local, remote });
  const controller = new AbortController();
  const { signal } = controller;
  const left = client.deregister(local, { waitMs: 60_000, signal });
  controller.abort(reason);
  await assert.rejects(left, isAbort);
  const driven = setInterval(() => server.poll(), 1);
  await transfer;
  await session.write({ local, remote });
  await client.deregister(local, { signal: new AbortController().signal });
  await assert.rejects(
    client.deregister(local, { wait: 5 } as never),
    withCode('ERR_USAGE_ARGUMENT'),
  );
  clearInterval(driven);
});

test('session: a message ends with its signal or its deadline', async () => {
  const settings = { 'lane.progress': 'caller', 'flow.windowChunks': 1 } as const;
  const server = await openEngine(settings);
  const client = await openEngine(settings);
  const session = await server.drive(client.connect('127.0.0.1', server.listen({ port: 0 })));
  const controller = new AbortController();
  const late = session.notify('nobody polls there', { deadlineMs: 20 });
  const message = session.notify('behind it', { signal: controller.signal });
  client.poll();
  controller.abort(reason);
  await assert.rejects(async () => await late, withCode('ERR_XFER_DEADLINE'));
  const driven = setInterval(() => server.poll(), 1);
  await assert.rejects(async () => await message, isAbort);
  clearInterval(driven);
});

test('p2p: closing ends an accept; one name is accepted once at a time', async () => {
  const server = await TcpxSession.open({ name: 'server', settings: QUIET });
  server.listen();
  const first = server.accept('client', Number.POSITIVE_INFINITY);
  await assert.rejects(server.accept('client'), withCode('ERR_USAGE_STATE', /already/));
  const told = assert.rejects(first, withCode('ERR_USAGE_STATE', /closed/));
  await server.close();
  await told;
});
