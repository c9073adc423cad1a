// How announcements and confirmations go: the control stream, the session where there is none, and
// what the loss of a stream costs.

import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { after, test } from 'node:test';
import { isTcpxError } from '../../src/base/errors.js';
import { fillPattern, verifyPattern } from '../../src/base/pattern.js';
import {
  closeProviders,
  makeMemory,
  openPair,
  type Settings,
  type TcpxPair,
  wholeBlock,
} from './tcpx-pair.js';

after(closeProviders);

const BYTES = 3 * 1024 * 1024 + 5;
const BY_SESSION: Settings = { 'tcpx.control': 'session' };

/** Both ends write and read; how the messages went. */
async function moveAll(pair: TcpxPair): Promise<string[]> {
  const [one, other] = await Promise.all([
    makeMemory(pair.initiator, BYTES),
    makeMemory(pair.target, BYTES),
  ]);
  fillPattern(one.bytes, 1, 0);
  const paths: string[] = [];
  for (const [session, local, remote] of [
    [pair.session, one, other],
    [pair.targetSession, other, one],
  ] as const) {
    const blocks = wholeBlock(local, remote);
    paths.push((await session.write(blocks, { notify: 'landed' }).done).control);
    paths.push((await session.read(blocks).done).control);
    assert.deepEqual(verifyPattern(remote.bytes, 1, 0), { count: 0, firstIndex: undefined });
  }
  assert.deepEqual(pair.notifications, ['landed']);
  return paths;
}

// Nothing else in this process is a TCP socket of Node's: engines have their own.
function streamSockets(): Socket[] {
  const handles = (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles();
  const all = handles.filter((handle) => handle instanceof Socket);
  return all.filter(({ remotePort }) => remotePort !== undefined);
}

test('tcpx control: messages of transfers have a stream of their own', async () => {
  const pair = await openPair();
  assert.deepEqual(await moveAll(pair), Array(4).fill('stream'));
  assert.equal(streamSockets().length, 2);
  await pair.close();
  assert.equal(streamSockets().length, 0);
});

for (const end of ['initiator', 'target'] as const) {
  test(`tcpx control: the session carries them where the ${end} wants no stream`, async () => {
    const pair = await openPair({}, { [end]: { settings: BY_SESSION } });
    assert.deepEqual(await moveAll(pair), Array(4).fill('session'));
    await pair.close();
  });
}

test('tcpx control: a lost stream ends its epoch, and the next has another', async () => {
  const pair = await openPair();
  const local = await makeMemory(pair.initiator, 64 * BYTES);
  const remote = await makeMemory(pair.target, 64 * BYTES);
  const blocks = wholeBlock(local, remote);
  const transfer = pair.session.write(blocks).done;
  await Promise.resolve();
  streamSockets()[0]?.destroy();
  await assert.rejects(transfer, (error) => {
    assert.ok(isTcpxError(error, 'ERR_PEER_LOST') || isTcpxError(error, 'ERR_XFER_FAILED'));
    assert.match(error.message, /control stream/);
    assert.equal(error.facts['isFenced'], true);
    return true;
  });
  fillPattern(local.bytes, 2, 0);
  assert.equal((await pair.session.write(blocks).done).control, 'stream');
  assert.deepEqual(verifyPattern(remote.bytes, 2, 0), { count: 0, firstIndex: undefined });
  await pair.close();
});
