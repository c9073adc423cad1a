// The match connection of a session: both ends post, and what its loss costs.

import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { after, test } from 'node:test';
import { isTcpxError } from '../../src/base/errors.js';
import { fillPattern, verifyPattern } from '../../src/base/pattern.js';
import { closeProviders, makeMemory, openPair, type TcpxPair, wholeBlock } from './tcpx-pair.js';

after(closeProviders);

const BYTES = 3 * 1024 * 1024 + 5;

/** Both ends write and read. */
async function moveAll(pair: TcpxPair): Promise<void> {
  const one = makeMemory(pair.initiator, BYTES);
  const other = makeMemory(pair.target, BYTES);
  fillPattern(one.bytes, 1, 0);
  for (const [session, local, remote] of [
    [pair.session, one, other],
    [pair.targetSession, other, one],
  ] as const) {
    const blocks = wholeBlock(local, remote);
    assert.equal((await session.write(blocks, { notify: 'landed' }).done).provider, 'tcpx');
    assert.equal((await session.read(blocks).done).provider, 'tcpx');
    assert.deepEqual(verifyPattern(remote.bytes, 1, 0), { count: 0, firstIndex: undefined });
  }
  assert.deepEqual(pair.notifications, ['landed']);
}

// Node lists no sockets that do not hold the process, so each is kept when it is listened to.
const heard = new Set<Socket>();
// eslint-disable-next-line @typescript-eslint/unbound-method -- called with its own socket
const plainOn = Socket.prototype.on;
Socket.prototype.on = function on(this: Socket, ...words: Parameters<typeof plainOn>) {
  heard.add(this);
  return plainOn.apply(this, words);
} as typeof plainOn;

// Nothing else in this process is a TCP socket of Node's: lanes and control have their own.
function matchSockets(): Socket[] {
  return [...heard].filter((one) => !one.destroyed && one.remotePort !== undefined);
}

test('match connection: one per session, for both ends, and gone with it', async () => {
  const pair = await openPair();
  await moveAll(pair);
  assert.equal(matchSockets().length, 2);
  await pair.close();
  assert.equal(matchSockets().length, 0);
});

test('match connection: a lost one ends its epoch, and the next has another', async () => {
  const pair = await openPair();
  const local = makeMemory(pair.initiator, 64 * BYTES);
  const remote = makeMemory(pair.target, 64 * BYTES);
  const blocks = wholeBlock(local, remote);
  const transfer = pair.session.write(blocks).done;
  await Promise.resolve();
  matchSockets()[0]?.destroy();
  await assert.rejects(transfer, (error) => {
    assert.ok(isTcpxError(error, 'ERR_XFER_FAILED'), String(error));
    assert.match(error.message, /match connection/);
    return true;
  });
  fillPattern(local.bytes, 2, 0);
  await pair.session.write(blocks).done;
  assert.deepEqual(verifyPattern(remote.bytes, 2, 0), { count: 0, firstIndex: undefined });
  await pair.close();
});
