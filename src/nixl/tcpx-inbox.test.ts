// What peers make the inbox of an agent hold: bounded for each and for all, by name, and the room
// of honest senders is not taken by others.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptLog } from '../../test/support/engine-pair.js';
import type { Session } from '../engine/session.js';
import { sealParts, sealWhole } from './notif-envelope.js';
import { TcpxInbox } from './tcpx-inbox.js';

const MIB = 1024 * 1024;

class StubSession {
  readonly peerName: string;
  readonly peer: string;
  isClosed = false;
  #end: () => void = () => undefined;
  readonly closed = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  constructor(name: string) {
    this.peerName = name;
    this.peer = name;
  }

  close(): Promise<void> {
    this.isClosed = true;
    this.#end();
    return this.closed;
  }
}

function open(bytesMax: number, peerBytesMax: number) {
  const kept = new KeptLog();
  const inbox = new TcpxInbox(kept.log, {
    bytesMax,
    peerBytesMax,
    partialsMax: 16,
    earlyMax: 65_536,
  });
  const send = (stub: StubSession, bytes: Uint8Array) =>
    inbox.receive({ session: stub as unknown as Session, bytes });
  return { inbox, kept, send };
}

test('inbox: parts that claim 16 MiB each hold what came of them', () => {
  const { inbox, send } = open(256 * MIB, 128 * MIB);
  const first = sealParts(new Uint8Array(16 * MIB), 1, false)[0]!;
  for (let peer = 0; peer < 60; peer++) {
    const stub = new StubSession(`peer-${peer}`);
    for (let number = 1; number <= 16; number++) {
      const part = first.slice();
      new DataView(part.buffer).setUint32(1, number, true);
      send(stub, part);
    }
    assert.ok(!stub.isClosed);
  }
  assert.ok(inbox.heldBytes < 64 * MIB, `${inbox.heldBytes} bytes for 60 MiB that came`);
});

test('inbox: one sender beyond its bytes loses its session, by the name of the setting', () => {
  const { inbox, kept, send } = open(8 * MIB, 2 * MIB);
  const flood = new StubSession('flood');
  const honest = new StubSession('honest');
  for (let count = 0; count < 64 && !flood.isClosed; count++) {
    send(flood, sealWhole(new Uint8Array(65_000)));
  }
  assert.ok(flood.isClosed);
  assert.ok(kept.has(/peer expelled peer=flood.*ERR_WIRE_LIMIT.*nixl\.inboxPeerBytesMax/));
  const before = inbox.heldBytes;
  send(flood, sealWhole(new Uint8Array(65_000)));
  assert.equal(inbox.heldBytes, before, 'what was on its way is not taken');
  send(honest, sealWhole(new Uint8Array(10)));
  assert.ok(!honest.isClosed);
  const agents = inbox.drain().map(({ agent }) => agent);
  assert.deepEqual([...new Set(agents)], ['flood', 'honest']);
  assert.equal(inbox.heldBytes, 0);
});

test('inbox: where all together hold too much, whoever holds most goes, not who came last', () => {
  const { inbox, kept, send } = open(4 * MIB, 2 * MIB);
  const floods = Array.from({ length: 3 }, (_, index) => new StubSession(`flood-${index}`));
  const fill = (flood: StubSession) => {
    for (let count = 0; count < 20; count++) send(flood, sealWhole(new Uint8Array(65_000)));
  };
  for (const flood of floods) fill(flood);
  const honest = new StubSession('honest');
  for (let count = 0; count < 8; count++) send(honest, sealWhole(new Uint8Array(65_000)));
  assert.ok(!honest.isClosed, 'a sender of little keeps its session');
  assert.ok(floods.some(({ isClosed }) => isClosed));
  assert.ok(kept.has(/peer expelled peer=flood.*nixl\.inboxBytesMax/));
  assert.ok(inbox.heldBytes <= 4 * MIB);
  assert.equal(inbox.drain().filter(({ agent }) => agent === 'honest').length, 8);
});

test('inbox: beginnings of a session that ends are let go of', async () => {
  const { inbox, send } = open(8 * MIB, 2 * MIB);
  const stub = new StubSession('gone');
  send(stub, sealParts(new Uint8Array(MIB), 1, false)[0]!);
  assert.ok(inbox.heldBytes > 60_000);
  await stub.close();
  await Promise.resolve();
  assert.equal(inbox.heldBytes, 0);
});
