// Channels of a new session that cannot be attached: the others end with the one that failed, a
// server without luck is asked again, and a session that was never made holds nothing.

import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { closeEngines, KeptLog, openEngine } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { answerRaw } from '../../test/support/raw-handshake.js';
import { listenRaw, type RawPeer } from '../../test/support/raw-peer.js';
import { Timers } from '../base/timers.js';
import { SHM_BYTES } from '../provider/tcp/shm/shm-layout.js';
import { ControlKind, type MessageOf } from '../wire/control-frame.js';
import type { NewSession } from './new-session.js';
import type { SessionTableOptions } from './session-surroundings.js';
import { SessionTable } from './session-table.js';
import { attachProof } from './trust.js';

after(closeEngines);

type Attach = MessageOf<typeof ControlKind.Attach>;

/** Accepts a session of so many channels; `onAttach` gets them, and the key. */
async function listenFor(
  t: TestContext,
  channels: number,
  onAttach: (peer: RawPeer, attach: Attach, key: Uint8Array) => void,
) {
  let control: RawPeer | undefined;
  let key = new Uint8Array(0);
  const serve = async (peer: RawPeer): Promise<void> => {
    if (control === undefined) {
      control = peer;
      key = Uint8Array.from(await answerRaw(peer, { channels }));
      return;
    }
    const attach = await peer.next();
    assert.ok(attach?.kind === ControlKind.Attach);
    onAttach(peer, attach, key);
  };
  const server = await listenRaw((peer) => {
    serve(peer).catch(() => peer.close());
  });
  t.after(() => server.close());
  return server;
}

test('attach: one that is refused ends those under way, and no other begins', async (t) => {
  const attached: RawPeer[] = [];
  const server = await listenFor(t, 8, (peer) => {
    attached.push(peer);
    if (attached.length < 4) return;
    peer.send({ kind: ControlKind.Refuse, code: 'ERR_WIRE_LIMIT', reason: 'no more' });
  });
  const client = await openEngine({
    'flow.channels': 8,
    'session.handshakeTimeoutMs': 30_000,
  });
  const refused = withCode('ERR_PEER_REFUSED', /no more/);
  await assert.rejects(client.connect('127.0.0.1', server.port), refused);
  for (const peer of attached) await peer.closed(20_000);
  assert.equal(attached.length, 4);
});

test('attach: a connect that is aborted closes what it has begun', async (t) => {
  const stop = new AbortController();
  const attached: RawPeer[] = [];
  const server = await listenFor(t, 8, (peer) => {
    attached.push(peer);
    if (attached.length === 4) stop.abort();
  });
  const client = await openEngine({
    'flow.channels': 8,
    'session.handshakeTimeoutMs': 30_000,
  });
  const { signal } = stop;
  const aborted = withCode('ERR_USAGE_ABORTED');
  await assert.rejects(client.connect(`127.0.0.1:${server.port}`, { signal }), aborted);
  for (const peer of attached) await peer.closed(20_000);
});

test('attach: a server that could not share memory is asked again, a few times', async (t) => {
  const refusal = { kind: ControlKind.Refuse, code: 'ERR_CAP_SHARED_MEMORY', reason: 'full' };
  for (const failures of [2, 3]) {
    const nonces = new Set<string>();
    const server = await listenFor(t, 1, (peer, attach, key) => {
      nonces.add(Buffer.from(attach.nonce).toString('hex'));
      if (nonces.size <= failures) peer.send(refusal);
      else peer.send({ kind: ControlKind.Attached, proof: attachProof(key, 'attached', attach) });
    });
    const client = await openEngine({ 'flow.channels': 1 });
    const connecting = client.connect('127.0.0.1', server.port);
    if (failures < 3) assert.equal((await connecting).state, 'ready');
    else await assert.rejects(connecting, withCode('ERR_PEER_REFUSED', /ERR_CAP_SHARED_MEMORY/));
    assert.equal(nonces.size, 3, 'each attempt has a mailbox of its own');
  }
});

test('sessions: one that cannot be made gives its shared memory back', () => {
  let failures = 3;
  const table = new SessionTable({
    lanes: { count: 1 },
    transfers: {},
    limits: { reconnectMs: 100, silentMs: 100, stallMs: 100, minRateBytes: 1, fencesMax: 1 },
    timers: new Timers(),
    log: new KeptLog().log,
    sessionsMax: 8,
    nicCount: 0,
    sharedBytesMax: SHM_BYTES,
    choicesOf: () => {
      if (failures-- > 0) throw new Error('no choice');
      return [];
    },
  } as unknown as SessionTableOptions);
  const given = {
    id: 1,
    role: 'client',
    peerName: 'there',
    peerGeneration: new Uint8Array(8),
    agreement: { channels: 1, windowChunks: 16, chunkBytes: 4096 },
    key: new Uint8Array(32),
    control: { where: 'there' },
    terms: { roundTripUs: 1 },
    choice: { provider: 'tcp', reason: '' },
    sharing: { kind: 'demanded', reason: 'asked' },
    isChecked: false,
    late: { isKnown: false, beginsWithOne: false },
  } as unknown as NewSession;
  for (let count = 0; count < 3; count++) assert.throws(() => table.create(given), /no choice/);
  assert.ok(table.create(given).sharing.isWanted);
  assert.throws(() => table.create(given), withCode('ERR_CAP_SHARED_MEMORY', /sharedBytes/));
});
