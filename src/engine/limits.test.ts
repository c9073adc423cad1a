// Limits on what peers may make an engine hold: each holds, and names itself when it does.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, KeptLog, openEngine, openPair } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import {
  openRawChannel,
  openRawSession,
  RAW_WISH,
  rawAttach,
} from '../../test/support/raw-handshake.js';
import { RawPeer } from '../../test/support/raw-peer.js';
import { sleepMs } from '../base/clock.js';
import { WARNINGS_PER_SECOND } from '../base/limited-log.js';
import { ControlKind, encodeControl } from '../wire/control-frame.js';

after(closeEngines);

async function openServer(settings = {}) {
  const kept = new KeptLog();
  const engine = await openEngine({ 'session.handshakeTimeoutMs': 5000, ...settings }, kept);
  return { engine, kept, port: engine.listen({ host: '127.0.0.1', port: 0 }) };
}

test('limit: one handshake too many costs the oldest its place, and says so', async () => {
  const { engine, kept, port } = await openServer({ 'session.handshakesMax': 8 });
  const peers: RawPeer[] = [];
  for (let count = 0; count < 8; count++) peers.push(await RawPeer.connect(port));
  await sleepMs(100);
  assert.ok(!kept.has(/peer refused/), 'as many as allowed all wait');
  const honest = await openRawSession(port);
  assert.ok(honest.accept.sessionId > 0, 'whoever comes next gets through');
  const refusal = await peers[0]!.next();
  assert.ok(refusal?.kind === ControlKind.Refuse && refusal.code === 'ERR_WIRE_LIMIT');
  assert.match(refusal.reason, /8 handshakes wait.*session\.handshakesMax/);
  assert.ok(kept.has(/peer refused peer=127.*ERR_WIRE_LIMIT.*session\.handshakesMax/));
  await assert.rejects(peers[1]!.closed(50), /does nothing/, 'the others stay');
  for (const peer of [...peers, honest.control]) peer.close();
  await engine.close();
});

test('limit: fences that the peer never answers end the session by name', async () => {
  const { engine, port } = await openServer({ 'session.fencesMax': 16 });
  const session = await openRawSession(port);
  const [held] = engine.sessions;
  let attached = 0;
  for (let epoch = 0; epoch <= 17 && held?.error === undefined; epoch++) {
    const data = await RawPeer.connect(port);
    data.sendBytes(rawAttach(session.accept.sessionId, 0, session.key, epoch));
    if ((await data.next())?.kind !== ControlKind.Attached) break;
    attached++;
    data.socket.end();
    await data.closed();
  }
  await held?.closed;
  assert.ok(held?.error !== undefined);
  assert.ok(withCode('ERR_WIRE_LIMIT', /16 fences.*session\.fencesMax/)(held.error));
  assert.ok(attached >= 16, `${attached} times`);
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

test('limit: a peer that asks and takes no answers loses its session at 64 KiB', async () => {
  const { engine, port } = await openServer();
  const session = await openRawSession(port);
  const data = await openRawChannel(port, session);
  const [held] = engine.sessions;
  assert.ok(held !== undefined);
  session.control.socket.pause();
  const kind = ControlKind.Lookup;
  const ask = encodeControl({ kind, lookupId: 1, name: 'no such region' });
  const burst = Buffer.concat(Array.from({ length: 1000 }, () => ask));
  while (held.error === undefined) {
    session.control.sendBytes(burst);
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
  assert.ok(withCode('ERR_WIRE_LIMIT', /asks for names and does not take the answers/)(held.error));
  for (const peer of [session.control, data]) peer.close();
  await engine.close();
});

test('limit: a flood of refused peers writes 20 lines a second, and how many not', async () => {
  const { engine, kept, port } = await openServer();
  const startMs = performance.now();
  const count = 300;
  for (let peer = 0; peer < count; peer++) {
    const raw = await RawPeer.connect(port);
    raw.sendBytes(new Uint8Array(64).fill(7));
    await raw.closed();
  }
  const seconds = Math.floor((performance.now() - startMs) / 1000) + 1;
  const lines = kept.lines.filter((line) => line.includes('peer refused'));
  assert.ok(lines.length <= WARNINGS_PER_SECOND * seconds, `${lines.length} in ${seconds} s`);
  // The next second's first line says so.
  const told = (): number => {
    const all = kept.lines.filter((line) => line.includes('peer refused'));
    const left = all.map((line) => Number(/suppressed=(\d+)/.exec(line)?.[1] ?? 0));
    return left.reduce((sum, one) => sum + one, all.length);
  };
  let more = 0;
  while (told() !== count + more) {
    const raw = await RawPeer.connect(port);
    raw.sendBytes(new Uint8Array(64).fill(7));
    await raw.closed();
    more++;
    await sleepMs(50);
  }
  await engine.close();
});
