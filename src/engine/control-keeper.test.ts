// Connections that die at one end only: the end that knows tells the other, and the client dials.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CuttingProxy } from '../../test/support/cutting-proxy.js';
import { closeEngines, KeptLog, openEngine } from '../../test/support/engine-pair.js';
import { openRawChannel, openRawSession, rawAttach } from '../../test/support/raw-handshake.js';
import { RawPeer } from '../../test/support/raw-peer.js';
import { until } from '../../test/support/until.js';
import { CONTROL_INDEX, ControlKind } from '../wire/control-frame.js';
import type { LiveSession } from './live-session.js';
import { liveSession } from './session-face.js';

after(closeEngines);

const LIMIT_MS = 4000;

async function openThroughProxy() {
  const kept = { server: new KeptLog(), client: new KeptLog() };
  const heard: string[] = [];
  let atServer: LiveSession | undefined;
  const server = await openEngine(
    { 'trust.secret': 'a secret for lost connections' },
    { log: kept.server.log, onSession: (session) => (atServer = liveSession(session)) },
  );
  const client = await openEngine(
    { 'trust.secret': 'a secret for lost connections', 'flow.channels': 1 },
    {
      log: kept.client.log,
      onNotification: ({ bytes }) => heard.push(new TextDecoder().decode(bytes)),
    },
  );
  const proxy = await CuttingProxy.open(server.listen({ host: '127.0.0.1', port: 0 }));
  const session = liveSession(await client.connect('127.0.0.1', proxy.port));
  if (atServer === undefined) throw new Error('the server has no session');
  const close = async (): Promise<void> => {
    await Promise.all([client.close(), server.close()]);
    proxy.close();
  };
  return { proxy, session, atServer, kept, heard, close };
}

test('redial: the last channel dies at the server alone, and the client dials', async () => {
  const { proxy, atServer, session, kept, heard, close } = await openThroughProxy();
  proxy.cut(1, 'server');
  await until('the client is asked', LIMIT_MS, () =>
    kept.client.has(/peer asks for a new connection/),
  );
  const sent = atServer.notify('still here');
  await sent.done;
  await until('a message over the new connection', LIMIT_MS, () => heard.length === 1);
  assert.deepEqual(heard, ['still here']);
  assert.deepEqual([atServer.state, session.state], ['ready', 'ready']);
  assert.equal(session.recovery.book.epoch(0), 1);
  await close();
});

for (const side of ['client', 'server'] as const) {
  test(`control: lost at the ${side} alone, attached anew, and the goodbye is heard`, async () => {
    const { proxy, session, atServer, kept, close } = await openThroughProxy();
    proxy.cut(0, side);
    const back = /control connection is back/;
    await until(
      'both have a new one',
      LIMIT_MS,
      () => kept.server.has(back) && kept.client.has(back),
    );
    assert.ok(session.control.isOpen && atServer.control.isOpen);
    assert.equal(session.recovery.failovers + atServer.recovery.failovers, 0);
    await atServer.close();
    await until('the end is heard', LIMIT_MS, () => session.isEnding());
    assert.equal(session.error?.code, 'ERR_PEER_GOODBYE');
    await close();
  });
}

test('restart: a peer that returns with a new generation is lost at once, by name', async () => {
  const { proxy, session, close } = await openThroughProxy();
  const successor = await openEngine({ 'trust.secret': 'a secret for lost connections' });
  proxy.serverPort = successor.listen({ host: '127.0.0.1', port: 0 });
  const startMs = performance.now();
  proxy.cut(1, 'client');
  await until('the session ends', LIMIT_MS, () => session.isEnding());
  assert.ok(performance.now() - startMs < 1000);
  assert.equal(session.error?.code, 'ERR_PEER_STALE_SESSION');
  await successor.close();
  await close();
});

test('control: a server that has forgotten the session ends it at once', async () => {
  const { proxy, session, atServer, close } = await openThroughProxy();
  // The goodbye gets lost, and so does the end of the channel.
  proxy.cut(0, 'server');
  proxy.cut(1, 'server');
  await atServer.close();
  proxy.cut(0, 'client');
  await until('the session ends', LIMIT_MS, () => session.isEnding());
  assert.equal(session.error?.code, 'ERR_PEER_STALE_SESSION');
  await close();
});

test('control: a later one proves itself; recorded, foreign, early ones are refused', async () => {
  const kept = new KeptLog();
  const server = await openEngine({}, { log: kept.log });
  const port = server.listen({ host: '127.0.0.1', port: 0 });
  const session = await openRawSession(port);
  const { sessionId } = session.accept;
  const say = async (bytes: Uint8Array) => {
    const peer = await RawPeer.connect(port);
    peer.sendBytes(bytes);
    return { peer, answer: await peer.next() };
  };
  const codeOf = async (bytes: Uint8Array): Promise<string> => {
    const { peer, answer } = await say(bytes);
    peer.close();
    return answer?.kind === ControlKind.Refuse ? answer.code : `kind ${answer?.kind}`;
  };
  const first = rawAttach(sessionId, CONTROL_INDEX, session.key, 1);
  assert.equal(await codeOf(first), 'ERR_PEER_STALE_SESSION', 'before the channels');
  const data = await openRawChannel(port, session);
  assert.equal(await codeOf(rawAttach(sessionId, CONTROL_INDEX, session.key, 0)), 'ERR_WIRE_STATE');
  const foreign = rawAttach(sessionId, CONTROL_INDEX, new Uint8Array(32), 1);
  assert.equal(await codeOf(foreign), 'ERR_PEER_STALE_SESSION', 'as if there were no session');
  const { peer, answer } = await say(first);
  assert.equal(answer?.kind, ControlKind.Attached);
  assert.equal(await codeOf(first), 'ERR_WIRE_STATE', 'recorded');
  assert.ok(kept.has(/peer refused peer=127\.0\.0\.1:\d+ code=ERR_WIRE_STATE/));
  peer.send({ kind: ControlKind.Redial, channelIndex: 0, epoch: 0 });
  await until('a client does not ask', LIMIT_MS, () => server.sessions.length === 0);
  for (const one of [data, peer, session.control]) one.close();
  await server.close();
});
