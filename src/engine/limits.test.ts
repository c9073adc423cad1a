// Limits on what peers may make an engine hold: each holds, and names itself when it does.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, KeptLog, openEngine, openPair } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { openRawSession, RAW_WISH, rawAttach } from '../../test/support/raw-handshake.js';
import { RawPeer } from '../../test/support/raw-peer.js';
import { sleepMs } from '../base/clock.js';
import { ControlKind } from '../wire/control-frame.js';
import { HANDSHAKES_MAX } from './peer-server.js';
import { FENCES_UNANSWERED_MAX } from './recovery.js';

after(closeEngines);

async function openServer(settings = {}) {
  const kept = new KeptLog();
  const engine = await openEngine({ 'session.handshakeTimeoutMs': 5000, ...settings }, kept);
  return { engine, kept, port: engine.listen({ host: '127.0.0.1', port: 0 }) };
}

test('limit: one handshake too many costs the oldest its place, and says so', async () => {
  const { engine, kept, port } = await openServer();
  const peers: RawPeer[] = [];
  for (let count = 0; count < HANDSHAKES_MAX; count++) peers.push(await RawPeer.connect(port));
  await sleepMs(100);
  assert.ok(!kept.has(/peer refused/), 'as many as allowed all wait');
  const honest = await openRawSession(port);
  assert.ok(honest.accept.sessionId > 0, 'whoever comes next gets through');
  const refusal = await peers[0]!.next();
  assert.ok(refusal?.kind === ControlKind.Refuse && refusal.code === 'ERR_WIRE_LIMIT');
  assert.match(refusal.reason, /256 handshakes wait/);
  assert.ok(kept.has(/peer refused peer=127.*ERR_WIRE_LIMIT.*256 handshakes/));
  await assert.rejects(peers[1]!.closed(50), /does nothing/, 'the others stay');
  for (const peer of [...peers, honest.control]) peer.close();
  await engine.close();
});

test('limit: fences that the peer never answers end the session by name', async () => {
  const { engine, port } = await openServer();
  const session = await openRawSession(port);
  const [held] = engine.sessions;
  for (let epoch = 0; epoch <= FENCES_UNANSWERED_MAX + 1 && held?.error === undefined; epoch++) {
    const data = await RawPeer.connect(port);
    data.sendBytes(rawAttach(session.accept.sessionId, 0, session.key, epoch));
    if ((await data.next())?.kind !== ControlKind.Attached) break;
    data.socket.end();
    await data.closed();
  }
  await held?.closed;
  assert.ok(held?.error !== undefined);
  assert.ok(withCode('ERR_WIRE_LIMIT', /fences are not answered/)(held.error));
  session.control.close();
  await engine.close();
});

test('limit: sessions, regions and transfers name the setting that bounds them', async () => {
  const server = await openServer({ 'session.peersMax': 1 });
  const first = await openRawSession(server.port);
  await assert.rejects(openRawSession(server.port), /ERR_WIRE_LIMIT.*session\.peersMax/);
  first.control.close();
  await server.engine.close();
  const small = await openServer({ 'memory.readsBytes': 1024 * 1024 });
  const wide = { ...RAW_WISH, explicit: 1, channels: 16, windowChunks: 256 };
  const tooWide = openRawSession(small.port, undefined, wide);
  await assert.rejects(tooWide, /ERR_WIRE_LIMIT.*16 channels.*256.*memory\.readsBytes/);
  (await openRawSession(small.port)).control.close();
  await small.engine.close();
  const pair = await openPair({ 'memory.regionsMax': 16, 'memory.transfersMax': 16 });
  const local = pair.client.register(new Uint8Array(8));
  const remote = pair.server.register(new Uint8Array(8)).descriptor;
  for (let count = 1; count < 16; count++) pair.client.register(new Uint8Array(8));
  const oneMore = () => pair.client.register(new Uint8Array(8));
  assert.throws(oneMore, withCode('ERR_CONFIG_VALUE', /memory\.regionsMax/));
  const block = { local, localOffset: 0, remote, remoteOffset: 0, bytes: 8 };
  const post = () => pair.session.write([block]);
  const posted: ReturnType<typeof post>[] = [];
  const flood = () => {
    for (let count = 0; count < 64; count++) posted.push(post());
  };
  assert.throws(flood, withCode('ERR_USAGE_STATE', /memory\.transfersMax/));
  await Promise.all(posted.map(({ done }) => done));
  await pair.close();
});
