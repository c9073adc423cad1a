// A session that ends by a goodbye: what the peer confirms as it leaves is heard, within a time.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, type EnginePair, openPair } from '../../test/support/engine-pair.js';
import { isTcpxError } from '../base/errors.js';
import { deafenSocket } from '../ffi/libc/socket-accident.js';

after(closeEngines);

const BYTES = 64 * 1024;

/** A write that is on its way to a server which has not looked at it yet. */
async function openSent(isDeaf = false) {
  const pair = await openPair({ 'lane.progress': 'caller', 'flow.channels': 2 });
  const sockets = pair.serverSession.sockets.flatMap((socket) => socket ?? []);
  if (isDeaf) for (const { fd } of sockets) deafenSocket(fd);
  const target = new Uint8Array(BYTES);
  const remote = pair.server.register(target).descriptor;
  const local = pair.client.register(new Uint8Array(BYTES).fill(7));
  const block = { local, localOffset: 0, remote, remoteOffset: 0, bytes: BYTES };
  const transfer = pair.session.write([block]);
  for (let turn = 0; turn < 100; turn++) pair.client.poll();
  assert.equal(transfer.status, 'active');
  return { pair, target, transfer };
}

// Control sockets are looked at once in some polls where callers drive.
function hearGoodbye({ client }: EnginePair): void {
  for (let turn = 0; turn < 1000; turn++) client.poll();
}

test('goodbye: heard before the confirmation, which counts all the same', async () => {
  const { pair, target, transfer } = await openSent();
  pair.serverSession.sayGoodbye('leaving');
  hearGoodbye(pair);
  for (let turn = 0; turn < 1000 && target[BYTES - 1] !== 7; turn++) pair.server.progress();
  const closing = pair.serverSession.close();
  const receipt = await pair.drive(transfer.done);
  assert.equal(receipt.bytesConfirmed, BYTES);
  assert.deepEqual([target[0], target[BYTES - 1]], [7, 7]);
  await pair.drive(Promise.all([closing, pair.session.closed]));
  assert.equal(pair.session.error?.code, 'ERR_PEER_GOODBYE');
  await pair.close();
});

test('goodbye: a peer that confirms nothing any more is waited for half a second', async () => {
  const { pair, transfer } = await openSent(true);
  pair.serverSession.sayGoodbye('leaving, and not closing');
  const startMs = performance.now();
  await assert.rejects(pair.client.drive(transfer.done), (error) => {
    assert.ok(isTcpxError(error, 'ERR_XFER_FAILED'), String(error));
    assert.match(error.message, /ERR_PEER_GOODBYE: .*said goodbye/);
    return true;
  });
  const waitedMs = performance.now() - startMs;
  assert.ok(waitedMs > 300 && waitedMs < 3000, `${waitedMs} ms`);
  await pair.close();
});

test('goodbye: with nothing in flight the session ends at once', async () => {
  const pair = await openPair();
  const startMs = performance.now();
  await pair.serverSession.close();
  await pair.session.closed;
  assert.ok(performance.now() - startMs < 400, 'at once');
  assert.equal(pair.session.error?.code, 'ERR_PEER_GOODBYE');
  await pair.close();
});
