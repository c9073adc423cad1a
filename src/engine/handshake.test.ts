// The bootstrap against peers that differ, lie, dawdle or vanish: each end says one clear thing,
// in time, and goes on.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  closeEngines,
  KeptLog,
  openEngine,
  openPair,
  type Settings,
} from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { listenRaw, RawPeer } from '../../test/support/raw-peer.js';
import { sleepMs } from '../base/clock.js';
import { ControlKind, encodeControl, Feature, type MessageOf } from '../wire/control-frame.js';
import { Transcript } from './transcript.js';
import { attachProof } from './trust.js';

after(closeEngines);

const SECRET = 'a shared secret of some length';
const NONCE = new Uint8Array(32).fill(1);
const GENERATION = new Uint8Array(8).fill(2);
const HELLO: MessageOf<typeof ControlKind.Hello> = {
  kind: ControlKind.Hello,
  features: Feature.Tcp,
  generation: GENERATION,
  nonce: NONCE,
  hostId: new Uint8Array(16),
  name: 'by hand',
};
const WISH = { explicit: 1, channels: 2, windowChunks: 16, chunkBytes: 65536 };

async function openServer(settings: Settings = {}) {
  const kept = new KeptLog();
  const engine = await openEngine({ 'session.handshakeTimeoutMs': 300, ...settings }, kept);
  return { engine, kept, port: engine.listen({ host: '127.0.0.1', port: 0 }) };
}

/** A handshake by hand up to ACCEPT. */
async function greet(port: number, wish = WISH) {
  const peer = await RawPeer.connect(port);
  peer.send(HELLO);
  const challenge = await peer.next();
  assert.ok(challenge?.kind === ControlKind.Challenge);
  const transcript = new Transcript(new Uint8Array(0));
  transcript.add(HELLO);
  assert.ok(transcript.isProved(challenge));
  peer.send(transcript.sign({ kind: ControlKind.Propose, ...wish }));
  const answer = await peer.next();
  if (answer?.kind === ControlKind.Accept) assert.ok(transcript.isProved(answer));
  return { peer, answer, sessionKey: transcript.sessionKey() };
}

function attachFrame(sessionId: number, channelIndex: number, key: Uint8Array) {
  const attach = { sessionId, channelIndex, epoch: 0, nonce: NONCE };
  return encodeControl({
    kind: ControlKind.Attach,
    ...attach,
    proof: attachProof(key, 'attach', attach),
  });
}

async function expectRefusal(peer: RawPeer, code: string): Promise<void> {
  const answer = await peer.next();
  assert.ok(answer?.kind === ControlKind.Refuse, `got kind ${answer?.kind}`);
  assert.equal(answer.code, code);
  await peer.closed();
}

const secretOf = (text: string): Settings => ({ 'trust.secret': text });

test('handshake: the same secret on both ends is proved, and shown in the receipt', async () => {
  const pair = await openPair(secretOf(SECRET));
  const local = pair.client.register(new Uint8Array(8));
  const remote = pair.server.register(new Uint8Array(8)).descriptor;
  const blocks = [{ local, localOffset: 0, remote, remoteOffset: 0, bytes: 8 }];
  assert.equal((await pair.session.write(blocks).done).trust, 'secret');
  await pair.close();
});

test('handshake: a wrong secret, or one on one side only, is ERR_WIRE_AUTH', async () => {
  const wrong = secretOf('another secret of some length');
  const cases: [Settings, Settings][] = [
    [secretOf(SECRET), wrong],
    [secretOf(SECRET), {}],
    [{}, secretOf(SECRET)],
  ];
  for (const [server, client] of cases) {
    await assert.rejects(openPair(server, client), withCode('ERR_WIRE_AUTH', /shared secret/));
  }
});

test('handshake: a client without the secret is refused and named in the log', async () => {
  const { engine, kept, port } = await openServer(secretOf(SECRET));
  const peer = await RawPeer.connect(port);
  peer.send(HELLO);
  assert.equal((await peer.next())?.kind, ControlKind.Challenge);
  peer.send({ kind: ControlKind.Propose, proof: new Uint8Array(32), ...WISH });
  await expectRefusal(peer, 'ERR_WIRE_AUTH');
  assert.ok(kept.has(/peer refused.*127\.0\.0\.1.*ERR_WIRE_AUTH/), kept.lines.join(''));
  assert.equal(engine.sessions.length, 0);
  await engine.close();
});

test('handshake: a secret that is too short is refused when the engine opens', async () => {
  await assert.rejects(openEngine(secretOf('short')), withCode('ERR_CONFIG_VALUE', /16 bytes/));
});

test('handshake: settings set by hand on both ends must agree, or are named', async () => {
  const names = ['flow.channels', 'flow.windowChunks', 'flow.chunkBytes'] as const;
  const values = {
    'flow.channels': [2, 3],
    'flow.windowChunks': [4, 5],
    'flow.chunkBytes': [8192, 4096],
  };
  for (const name of names) {
    const [server, client] = values[name];
    await assert.rejects(
      openPair({ [name]: server }, { [name]: client }),
      withCode(
        'ERR_PEER_REFUSED',
        new RegExp(`ERR_CONFIG_MISMATCH.*${name}.*${client}.*${server}`),
      ),
    );
  }
});

test('handshake: a setting set by hand on one end is taken by the other', async () => {
  for (const [server, client] of [
    [{ 'flow.channels': 3 }, {}],
    [{}, { 'flow.channels': 3 }],
    [{ 'flow.channels': 3 }, { 'flow.channels': 3 }],
  ]) {
    const pair = await openPair(server, client);
    assert.equal(pair.session.facts.agreement.channels, 3);
    assert.equal(pair.serverSession.facts.agreement.channels, 3);
    await pair.close();
  }
});

test('handshake: a peer of another version is refused by name, on both ends', async () => {
  const { engine, kept, port } = await openServer();
  const peer = await RawPeer.connect(port);
  const hello = encodeControl(HELLO);
  hello[4] = 1;
  peer.sendBytes(hello);
  await expectRefusal(peer, 'ERR_WIRE_VERSION');
  assert.ok(kept.has(/ERR_WIRE_VERSION.*version 1/), kept.lines.join(''));
  await engine.close();
});

test('handshake: a server of another version is named by the client', async () => {
  const server = await listenRaw((peer) => {
    void peer.next().then(() => {
      const refusal = encodeControl({ kind: ControlKind.Refuse, code: 'X', reason: 'y' });
      refusal[4] = 9;
      peer.sendBytes(refusal);
    });
  });
  const client = await openEngine();
  await assert.rejects(
    client.connect('127.0.0.1', server.port),
    withCode('ERR_WIRE_VERSION', /version 9, this end 2/),
  );
  await client.close();
  server.close();
});

test('handshake: garbage is told at its first bytes, on both ends', async () => {
  const { engine, kept, port } = await openServer();
  const peer = await RawPeer.connect(port);
  peer.sendBytes(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
  assert.ok((await peer.closed()) < 250, 'before the deadline');
  assert.ok(kept.has(/ERR_WIRE_MAGIC/));
  const server = await listenRaw((raw) => raw.sendBytes(Buffer.from('SSH-2.0-OpenSSH_9\r\n')));
  const failed = engine.connect('127.0.0.1', server.port);
  await assert.rejects(failed, withCode('ERR_WIRE_MAGIC', new RegExp(`127.0.0.1:${server.port}`)));
  server.close();
  await engine.close();
});

test('handshake: a frame out of turn, a long body and a broken one are refused', async () => {
  const { engine, port } = await openServer();
  const cases: [Uint8Array, string][] = [
    [encodeControl({ kind: ControlKind.Goodbye, reason: '' }), 'ERR_WIRE_STATE'],
    [Buffer.from('4e58545002000100ffffffff00000000', 'hex'), 'ERR_WIRE_LIMIT'],
    [Buffer.from('4e58545002000100040000000000000000000000', 'hex'), 'ERR_WIRE_FRAME'],
    [Buffer.from('4e5854500200010000000000 01000000'.replaceAll(' ', ''), 'hex'), 'ERR_WIRE_FRAME'],
  ];
  for (const [bytes, code] of cases) {
    const peer = await RawPeer.connect(port);
    peer.sendBytes(bytes);
    await expectRefusal(peer, code);
  }
  await engine.close();
});

test('handshake: one byte at a time is as good as whole frames', async () => {
  const { engine, port } = await openServer({ 'session.handshakeTimeoutMs': 5000 });
  const peer = await RawPeer.connect(port);
  peer.socket.setNoDelay(true);
  for (const byte of encodeControl(HELLO)) {
    peer.sendBytes(Uint8Array.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await peer.next())?.kind, ControlKind.Challenge);
  peer.close();
  await engine.close();
});

test('handshake: who says nothing, or stops half way, is let go at the deadline', async () => {
  const { engine, kept, port } = await openServer();
  const silent = await RawPeer.connect(port);
  const slow = await RawPeer.connect(port);
  slow.sendBytes(encodeControl(HELLO).subarray(0, 20));
  const half = await RawPeer.connect(port);
  half.send(HELLO);
  for (const peer of [silent, slow, half]) {
    const tookMs = await peer.closed(3000);
    assert.ok(tookMs < 1500, `${tookMs} ms`);
  }
  assert.ok(kept.has(/no HELLO or ATTACH within 300 ms/));
  assert.ok(kept.has(/no PROPOSE within 300 ms/));
  await engine.close();
});

test('handshake: a drip of bytes does not stretch the deadline', async () => {
  const { engine, port } = await openServer();
  const peer = await RawPeer.connect(port);
  const startMs = performance.now();
  const hello = encodeControl(HELLO);
  let sent = 0;
  const drip = setInterval(() => peer.sendBytes(hello.subarray(sent, ++sent)), 30);
  await peer.closed(3000);
  clearInterval(drip);
  assert.ok(performance.now() - startMs < 1500);
  await engine.close();
});

test('handshake: a peer that closes at any step leaves nothing behind', async () => {
  const { engine, kept, port } = await openServer();
  for (const bytes of [0, 7, 16, 40, encodeControl(HELLO).length]) {
    const peer = await RawPeer.connect(port);
    if (bytes > 0) peer.sendBytes(encodeControl(HELLO).subarray(0, bytes));
    await sleepMs(5);
    peer.close();
  }
  const { peer, answer } = await greet(port);
  assert.equal(answer?.kind, ControlKind.Accept);
  const sessionCount = (): number => engine.sessions.length;
  assert.equal(sessionCount(), 1);
  peer.close();
  for (let tries = 0; tries < 100 && sessionCount() > 0; tries++) await sleepMs(10);
  assert.equal(sessionCount(), 0, 'a session without channels ends at the deadline');
  assert.ok(kept.has(/channels not attached in 300 ms/));
  await engine.close();
});

test('attach: a recorded ATTACH cannot be played again, nor one with a wrong proof', async () => {
  const { engine, kept, port } = await openServer({ 'session.handshakeTimeoutMs': 3000 });
  const { peer, answer, sessionKey } = await greet(port);
  assert.ok(answer?.kind === ControlKind.Accept);
  const id = answer.sessionId;
  const refusals: [string, Uint8Array, string, string][] = [
    // What a stranger is told does not say that the session lives; the log does.
    [
      'wrong key',
      attachFrame(id, 0, new Uint8Array(32)),
      'ERR_PEER_STALE_SESSION',
      'ERR_WIRE_AUTH',
    ],
    ['no session', attachFrame(id ^ 1, 0, sessionKey), 'ERR_PEER_STALE_SESSION', 'ERR_PEER_STALE'],
    ['channel 2 of 2', attachFrame(id, 2, sessionKey), 'ERR_WIRE_LIMIT', 'ERR_WIRE_LIMIT'],
  ];
  for (const [name, frame, code, logged] of refusals) {
    const stranger = await RawPeer.connect(port);
    stranger.sendBytes(frame);
    await expectRefusal(stranger, code);
    assert.ok(kept.has(new RegExp(logged)), name);
  }
  const first = await RawPeer.connect(port);
  first.sendBytes(attachFrame(id, 0, sessionKey));
  assert.equal((await first.next())?.kind, ControlKind.Attached);
  const replayed = await RawPeer.connect(port);
  replayed.sendBytes(attachFrame(id, 0, sessionKey));
  await expectRefusal(replayed, 'ERR_WIRE_STATE');
  const second = await RawPeer.connect(port);
  second.sendBytes(attachFrame(id, 1, sessionKey));
  assert.equal((await second.next())?.kind, ControlKind.Attached);
  const late = await RawPeer.connect(port);
  late.sendBytes(attachFrame(id, 1, sessionKey));
  await expectRefusal(late, 'ERR_WIRE_STATE');
  assert.equal(engine.sessions[0]?.state, 'ready', 'the session has not suffered');
  peer.close();
  first.close();
  second.close();
  await engine.close();
});

test('session: a peer that breaks a rule on a data channel is closed with the rule', async () => {
  const { engine, kept, port } = await openServer({ 'session.handshakeTimeoutMs': 3000 });
  const { peer, answer, sessionKey } = await greet(port, { ...WISH, channels: 1 });
  assert.ok(answer?.kind === ControlKind.Accept);
  const data = await RawPeer.connect(port);
  data.sendBytes(attachFrame(answer.sessionId, 0, sessionKey));
  assert.equal((await data.next())?.kind, ControlKind.Attached);
  const [session] = engine.sessions;
  data.sendBytes(new Uint8Array(64).fill(7));
  await session?.closed;
  assert.ok(session?.error !== undefined && withCode('ERR_WIRE_FRAME', /by hand/)(session.error));
  assert.ok(kept.has(/ERR_WIRE_FRAME/));
  peer.close();
  data.close();
  await engine.close();
});

test('handshake: settings that a client cannot mean are refused', async () => {
  const { engine, port } = await openServer();
  for (const wish of [
    { ...WISH, channels: 0 },
    { ...WISH, channels: 17 },
    { ...WISH, windowChunks: 0xffffffff },
    { ...WISH, chunkBytes: 0 },
  ]) {
    const { peer, answer } = await greet(port, wish);
    assert.ok(answer?.kind === ControlKind.Refuse && answer.code === 'ERR_WIRE_LIMIT');
    await peer.closed();
  }
  await engine.close();
});

test('handshake: more peers than allowed are refused', async () => {
  const { engine, port } = await openServer({ 'session.peersMax': 1 });
  const first = await greet(port);
  assert.equal(first.answer?.kind, ControlKind.Accept);
  const second = await greet(port);
  assert.ok(second.answer?.kind === ControlKind.Refuse && second.answer.code === 'ERR_WIRE_LIMIT');
  first.peer.close();
  second.peer.close();
  await engine.close();
});
