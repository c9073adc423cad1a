// Recorded and reflected proofs, against an engine that has a secret: each is refused as what it
// is, named in the log, and leaves no session.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import { after, test } from 'node:test';
import { closeEngines, KeptLog, openEngine } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import {
  openRawChannel,
  openRawSession,
  RAW_WISH,
  rawAttach,
  rawHello,
  rawPropose,
  transcriptOf,
} from '../../test/support/raw-handshake.js';
import { listenRaw, RawPeer } from '../../test/support/raw-peer.js';
import { sleepMs } from '../base/clock.js';
import { ControlKind, encodeControl } from '../wire/control-frame.js';
import { Transcript } from './transcript.js';

after(closeEngines);

const SECRET = 'a shared secret of some length';
const secret = new TextEncoder().encode(SECRET);

async function openServer(settings = {}) {
  const kept = new KeptLog();
  const all = { 'trust.secret': SECRET, 'session.handshakeTimeoutMs': 2000, ...settings };
  const engine = await openEngine(all, kept);
  return { engine, kept, port: engine.listen({ host: '127.0.0.1', port: 0 }) };
}

async function expectRefusal(peer: RawPeer, code: string): Promise<void> {
  const answer = await peer.next();
  assert.ok(answer?.kind === ControlKind.Refuse, `got ${JSON.stringify(answer)}`);
  assert.equal(answer.code, code);
  await peer.closed();
}

test('replay: a recorded HELLO and PROPOSE do not open a session again', async () => {
  const { engine, kept, port } = await openServer();
  const nonce = randomBytes(32);
  const first = await RawPeer.connect(port);
  first.send(rawHello(nonce));
  const challenge = await first.next();
  assert.ok(challenge?.kind === ControlKind.Challenge);
  const propose = encodeControl(rawPropose(transcriptOf(secret, nonce, challenge)));
  first.sendBytes(propose);
  assert.equal((await first.next())?.kind, ControlKind.Accept);
  const again = await RawPeer.connect(port);
  again.send(rawHello(nonce));
  const other = await again.next();
  assert.ok(other?.kind === ControlKind.Challenge);
  assert.notDeepEqual(other.nonce, challenge.nonce, 'a fresh nonce for the same HELLO');
  again.sendBytes(propose);
  await expectRefusal(again, 'ERR_WIRE_AUTH');
  assert.ok(kept.has(/peer refused.*127\.0\.0\.1:\d+.*ERR_WIRE_AUTH/));
  assert.equal(engine.sessions.length, 1);
  first.close();
  await engine.close();
});

test('trust: an honest client with a wrong secret, or none, is named in the log', async () => {
  const { engine, kept, port } = await openServer();
  for (const settings of [{ 'trust.secret': 'another secret of some length' }, {}]) {
    kept.lines.length = 0;
    const client = await openEngine(settings);
    await assert.rejects(client.connect('127.0.0.1', port), withCode('ERR_WIRE_AUTH'));
    const line = /peer refused peer=127\.0\.0\.1:\d+ code=ERR_WIRE_AUTH/;
    for (let tries = 0; tries < 100 && !kept.has(line); tries++) await sleepMs(5);
    assert.ok(kept.has(line), kept.lines.join(''));
    await client.close();
  }
  assert.equal(engine.sessions.length, 0);
  await engine.close();
});

test('replay: the server’s own proof, sent back, proves nothing', async () => {
  const { engine, port } = await openServer();
  const peer = await RawPeer.connect(port);
  peer.send(rawHello(randomBytes(32)));
  const challenge = await peer.next();
  assert.ok(challenge?.kind === ControlKind.Challenge);
  peer.send({ kind: ControlKind.Propose, proof: challenge.proof, ...RAW_WISH });
  await expectRefusal(peer, 'ERR_WIRE_AUTH');
  assert.equal(engine.sessions.length, 0);
  await engine.close();
});

test('replay: a client’s own nonce, or an old answer, does not pass for a server', async () => {
  const { engine, port } = await openServer();
  // An honest exchange is recorded first: a challenge with a right proof, for another nonce.
  const honest = await RawPeer.connect(port);
  honest.send(rawHello(randomBytes(32)));
  const recorded = await honest.next();
  assert.ok(recorded?.kind === ControlKind.Challenge);
  honest.close();
  const answers = [recorded, { ...recorded, proof: randomBytes(32) }];
  for (const answer of answers) {
    const server = await listenRaw((peer) => {
      void peer.next().then(() => peer.send(answer));
    });
    const failed = engine.connect('127.0.0.1', server.port);
    await assert.rejects(failed, withCode('ERR_WIRE_AUTH', /the server has another shared secret/));
    server.close();
  }
  const mirror = await listenRaw((peer) => {
    void peer.next().then((hello) => {
      assert.ok(hello?.kind === ControlKind.Hello);
      peer.send({ ...hello, kind: ControlKind.Challenge, proof: hello.nonce });
    });
  });
  await assert.rejects(engine.connect('127.0.0.1', mirror.port), withCode('ERR_WIRE_AUTH'));
  mirror.close();
  await engine.close();
});

test('replay: an ATTACH is good for one channel of one session, once', async () => {
  const { engine, kept, port } = await openServer();
  const wish = { ...RAW_WISH, explicit: 1, channels: 2 };
  const session = await openRawSession(port, secret, wish);
  const other = await openRawSession(port, secret, wish);
  assert.notDeepEqual(session.key, other.key, 'every session has a key of its own');
  const recorded = rawAttach(session.accept.sessionId, 0, session.key);
  const first = await RawPeer.connect(port);
  first.sendBytes(recorded);
  assert.equal((await first.next())?.kind, ControlKind.Attached);
  const refusals: [Uint8Array, string, string][] = [
    [recorded, 'ERR_WIRE_STATE', 'ERR_WIRE_STATE'],
    [rawAttach(other.accept.sessionId, 0, session.key), 'ERR_PEER_STALE_SESSION', 'ERR_WIRE_AUTH'],
    [rawAttach(session.accept.sessionId, 1, secret), 'ERR_PEER_STALE_SESSION', 'ERR_WIRE_AUTH'],
    [rawAttach(session.accept.sessionId, 1, other.key), 'ERR_PEER_STALE_SESSION', 'ERR_WIRE_AUTH'],
  ];
  for (const [bytes, code, logged] of refusals) {
    kept.lines.length = 0;
    const peer = await RawPeer.connect(port);
    peer.sendBytes(bytes);
    await expectRefusal(peer, code);
    assert.ok(kept.has(new RegExp(`peer refused.*${logged}`)));
  }
  const second = await openRawChannel(port, session, 1);
  assert.deepEqual(engine.sessions.map(({ state }) => state).sort(), ['attaching', 'ready']);
  for (const peer of [first, second, session.control, other.control]) peer.close();
  await engine.close();
});

test('replay: data before ATTACH, and PROPOSE before HELLO, are not obeyed', async () => {
  const { engine, port } = await openServer();
  const early = await RawPeer.connect(port);
  early.send(rawPropose(new Transcript(secret)));
  await expectRefusal(early, 'ERR_WIRE_STATE');
  const data = await RawPeer.connect(port);
  data.sendBytes(new Uint8Array(64).fill(1));
  await expectRefusal(data, 'ERR_WIRE_MAGIC');
  assert.equal(engine.sessions.length, 0);
  await engine.close();
});

test('channel: an end that comes together with the last bytes is seen', async () => {
  const { engine, port } = await openServer();
  const session = await openRawSession(port, secret);
  for (let epoch = 0; epoch < 20; epoch++) {
    const data = await RawPeer.connect(port);
    data.sendBytes(rawAttach(session.accept.sessionId, 0, session.key, epoch));
    assert.equal((await data.next())?.kind, ControlKind.Attached);
    // Half a head: no rule is broken, nothing is in flight, only the end says that it is over.
    data.socket.end(new Uint8Array(20).fill(1));
    const tookMs = await data.closed(2000);
    assert.ok(tookMs < 1000, `${tookMs} ms`);
  }
  session.control.close();
  await engine.close();
});

test('trust: no secret, beyond loopback: its own code, and the log names the peer', async (t) => {
  const address = Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry?.family === 'IPv4' && !entry.internal)?.address;
  if (address === undefined) {
    t.skip('needs an IPv4 address beyond loopback');
    return;
  }
  const kept = new KeptLog();
  const engine = await openEngine({}, kept);
  const port = engine.listen({ host: '0.0.0.0', port: 0 });
  for (const bytes of [encodeControl(rawHello(randomBytes(32))), rawAttach(1, 0, secret)]) {
    const peer = await RawPeer.connect(port, address);
    peer.sendBytes(bytes);
    await expectRefusal(peer, 'ERR_PEER_UNTRUSTED');
  }
  const named = address.replaceAll('.', '\\.');
  assert.ok(kept.has(new RegExp(`peer refused peer=${named}:\\d+ code=ERR_PEER_UNTRUSTED`)));
  await engine.close();
});
