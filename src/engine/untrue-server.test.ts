// What a server, or somebody between, may not make a client do: take other settings than it insists
// on, dial hosts of others, or learn nothing of whose secret is missing.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, test } from 'node:test';
import {
  closeEngines,
  KeptLog,
  openEngine,
  type Settings,
} from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { answerRaw, openRawSession, rawAttach } from '../../test/support/raw-handshake.js';
import { listenRaw, RawPeer } from '../../test/support/raw-peer.js';
import { until } from '../../test/support/until.js';
import { sleepMs } from '../base/clock.js';
import { ControlKind, encodeControl } from '../wire/control-frame.js';
import { Transcript } from './transcript.js';

after(closeEngines);

const SECRET = 'a shared secret of some length';
const secret = new TextEncoder().encode(SECRET);

async function openClient(settings: Settings = {}) {
  const kept = new KeptLog();
  const all = { 'session.handshakeTimeoutMs': 300, 'trust.secret': SECRET, ...settings };
  return { client: await openEngine(all, kept), kept };
}

async function serveRaw(said: Parameters<typeof answerRaw>[1]) {
  const server = await listenRaw((peer) => {
    void answerRaw(peer, said, secret).catch(() => peer.close());
  });
  after(() => server.close());
  return server;
}

test('accept: a client that is set to one channel does not take four', async () => {
  const server = await serveRaw({ channels: 4 });
  const { client } = await openClient({ 'flow.channels': 1 });
  await assert.rejects(
    client.connect('127.0.0.1', server.port),
    withCode('ERR_CONFIG_MISMATCH', /flow\.channels.* 1 at the client, the server says 4/),
  );
  assert.equal(client.sessions.length, 0);
  await client.close();
});

test('accept: a client that does not take it is heard at once, by name', async () => {
  const kept = new KeptLog();
  const server = await openEngine(
    { 'trust.secret': SECRET, 'session.handshakeTimeoutMs': 20_000 },
    kept,
  );
  const port = server.listen({ host: '127.0.0.1', port: 0 });
  const { control } = await openRawSession(port, secret);
  assert.equal(server.sessions.length, 1);
  const kind = ControlKind.Refuse;
  control.send({ kind, code: 'ERR_CONFIG_MISMATCH', reason: 'flow.channels: 1 here' });
  await until('the session has ended', 4000, () => server.sessions.length === 0);
  assert.ok(kept.has(/session not begun.*ERR_PEER_REFUSED.*ERR_CONFIG_MISMATCH: flow\.channels/));
  const chatty = await openRawSession(port, secret);
  chatty.control.send({ kind: ControlKind.Goodbye, reason: 'too early' });
  await until('the second has ended', 4000, () => server.sessions.length === 0);
  assert.ok(kept.has(/ERR_WIRE_STATE.*GOODBYE before its channels/));
  await server.close();
});

test('accept: no other host is dialled because a server names it', async () => {
  const server = await serveRaw({ addresses: ['127.0.0.2', '127.0.0.3'] });
  const knocks: string[] = [];
  const neighbour = createServer((socket) => {
    knocks.push(`${socket.localAddress}`);
    socket.destroy();
  });
  await new Promise<void>((resolve) => neighbour.listen(server.port, '127.0.0.2', resolve));
  const { client, kept } = await openClient();
  // The server itself knows no ATTACH.
  await assert.rejects(client.connect('127.0.0.1', server.port), withCode('ERR_PEER_LOST'));
  await sleepMs(20);
  assert.deepEqual(knocks, []);
  assert.ok(kept.has(/warn .*addresses of the peer are left out.*127\.0\.0\.2 127\.0\.0\.3/));
  await client.close();
  neighbour.close();
});

test('accept: an ACCEPT whose words are not those that were proved is refused', async () => {
  const server = await listenRaw((peer) => {
    void (async () => {
      const hello = await peer.next();
      assert.ok(hello?.kind === ControlKind.Hello);
      const transcript = new Transcript(secret);
      transcript.add(hello);
      peer.send(transcript.sign({ ...hello, kind: ControlKind.Challenge, name: 'between' }));
      const propose = await peer.next();
      assert.ok(propose?.kind === ControlKind.Propose && transcript.isProved(propose));
      const settings = { sessionId: 1, channels: 1, windowChunks: 16, chunkBytes: 65536 };
      const said = { kind: ControlKind.Accept, ...settings, addresses: [] };
      peer.sendBytes(encodeControl({ ...transcript.sign(said), windowChunks: 17 }));
    })().catch(() => peer.close());
  });
  const { client } = await openClient();
  await assert.rejects(
    client.connect('127.0.0.1', server.port),
    withCode('ERR_WIRE_AUTH', /the handshake was changed on its way/),
  );
  server.close();
  await client.close();
});

test('secret: both ends say which of them lacks it', async () => {
  const cases: [Settings, Settings, RegExp, RegExp][] = [
    [
      { 'trust.secret': SECRET },
      { 'trust.secret': '' },
      /this end has no shared secret, the server has one/,
      /the client has no shared secret, this end has one/,
    ],
    [
      { 'trust.secret': '' },
      { 'trust.secret': SECRET },
      /the server has no shared secret, this end has one/,
      /this end has no shared secret, the client has one/,
    ],
    [
      { 'trust.secret': SECRET },
      { 'trust.secret': `another ${SECRET}` },
      /the server has another shared secret than this end/,
      /the client has another shared secret than this end/,
    ],
  ];
  for (const [atServer, atClient, said, logged] of cases) {
    const kept = new KeptLog();
    const server = await openEngine(atServer, kept);
    const port = server.listen({ host: '127.0.0.1', port: 0 });
    const { client } = await openClient(atClient);
    await assert.rejects(client.connect('127.0.0.1', port), withCode('ERR_WIRE_AUTH', said));
    await until('the server says so too', 2000, () => kept.has(logged));
    await client.close();
    await server.close();
  }
});

test('attach: a stranger cannot tell a session that lives from one that does not', async () => {
  const kept = new KeptLog();
  const server = await openEngine({ 'trust.secret': SECRET }, kept);
  const port = server.listen({ host: '127.0.0.1', port: 0 });
  const session = await openRawSession(port, secret);
  const { sessionId } = session.accept;
  const answers: string[] = [];
  for (const [id, index] of [
    [sessionId, 0],
    [sessionId, 99],
    [sessionId ^ 1, 0],
  ] as const) {
    const stranger = await RawPeer.connect(port);
    stranger.sendBytes(rawAttach(id, index, new Uint8Array(32)));
    const answer = await stranger.next();
    assert.ok(answer?.kind === ControlKind.Refuse);
    answers.push(`${answer.code} ${answer.reason.replace(/:\d+/, '')}`);
    stranger.close();
  }
  assert.deepEqual(new Set(answers).size, 1, answers.join('\n'));
  assert.ok(kept.has(/ERR_WIRE_AUTH.*without the session's key/), kept.lines.join(''));
  session.control.close();
  await server.close();
});
