// Connecting to peers that are not there, not yet there, silent or gone, in time.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, openEngine } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { listenRaw } from '../../test/support/raw-peer.js';
import { sleepMs } from '../base/clock.js';

after(closeEngines);

async function openServer() {
  const engine = await openEngine({ 'session.handshakeTimeoutMs': 300 });
  return { engine, port: engine.listen({ host: '127.0.0.1', port: 0 }) };
}

test('connect: a server that closes in mid-handshake is ERR_PEER_LOST, and named', async () => {
  const client = await openEngine();
  for (const step of ['at once', 'after HELLO']) {
    const server = await listenRaw((peer) => {
      if (step === 'at once') peer.close();
      else void peer.next().then(() => peer.close());
    });
    await assert.rejects(
      client.connect('127.0.0.1', server.port),
      withCode('ERR_PEER_LOST', new RegExp(`127.0.0.1:${server.port}`)),
      step,
    );
    server.close();
  }
  await client.close();
});

test('connect: a server that never answers is ERR_PEER_TIMEOUT in time', async () => {
  const server = await listenRaw(() => undefined);
  const client = await openEngine({ 'session.handshakeTimeoutMs': 100 });
  const startMs = performance.now();
  await assert.rejects(client.connect('127.0.0.1', server.port), withCode('ERR_PEER_TIMEOUT'));
  assert.ok(performance.now() - startMs < 1500);
  await client.close();
  server.close();
});

test('connect: nobody listens: tried until the time is over, then refused', async () => {
  const server = await listenRaw(() => undefined);
  server.close();
  const client = await openEngine({ 'session.connectTimeoutMs': 200 });
  const startMs = performance.now();
  await assert.rejects(
    client.connect('127.0.0.1', server.port),
    withCode('ERR_PEER_UNREACHABLE', /ECONNREFUSED/),
  );
  const tookMs = performance.now() - startMs;
  assert.ok(tookMs >= 100 && tookMs < 2000, `${tookMs} ms`);
  await assert.rejects(client.connect('no.such.name.invalid', 1), withCode('ERR_SYS_RESOLVE'));
  await client.close();
});

test('connect: a client may come before its server listens', async () => {
  const first = await openServer();
  const { port } = first;
  await first.engine.close();
  const client = await openEngine();
  const server = await openEngine();
  const connecting = client.connect('127.0.0.1', port);
  await sleepMs(120);
  server.listen({ host: '127.0.0.1', port });
  assert.equal((await connecting).state, 'ready');
  await client.close();
  await server.close();
});

test('connect: a port in use is named when listening', async () => {
  const { engine, port } = await openServer();
  const other = await openEngine();
  const listen = () => other.listen({ host: '127.0.0.1', port });
  assert.throws(listen, withCode('ERR_SYS_ADDRESS_IN_USE', new RegExp(String(port))));
  assert.throws(() => engine.listen(), withCode('ERR_USAGE_STATE', /already listening/));
  await other.close();
  await engine.close();
});
