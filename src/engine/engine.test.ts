// Two engines of one process, both ways of progress: sizes, regions, notifications, errors.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  closeEngines,
  type EnginePair,
  openPair,
  type Settings,
} from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { sleepMs } from '../base/clock.js';
import { isTcpxError } from '../base/errors.js';
import { fillPattern, findMismatch } from '../base/pattern.js';
import type { Region } from '../memory/region.js';

after(closeEngines);

const MODES: Record<string, Settings> = {
  caller: { 'lane.progress': 'caller' },
  'one lane': { 'lane.progress': 'lanes' },
  'two lanes, three channels': {
    'lane.progress': 'lanes',
    'lane.count': 2,
    'flow.channels': 3,
    'flow.chunkBytes': 64 * 1024,
  },
};

function whole(local: Region, remote: Region, bytes: number) {
  const remoteOffset = remote.bytes - bytes;
  return [{ local, localOffset: 0, remote: remote.descriptor, remoteOffset, bytes }];
}

async function moveAndCheck(pair: EnginePair, operation: 'write' | 'read', bytes: number) {
  const local = new Uint8Array(bytes);
  const remote = new Uint8Array(bytes + 7);
  const localRegion = pair.client.register(local);
  const remoteRegion = pair.server.register(remote);
  const source = operation === 'write' ? local : remote.subarray(7);
  const target = operation === 'write' ? remote.subarray(7) : local;
  fillPattern(source, bytes);
  const blocks = whole(localRegion, remoteRegion, bytes);
  const receipt = await pair.drive(pair.session[operation](blocks).done);
  assert.equal(findMismatch(target, bytes), -1, `${operation} of ${bytes}`);
  assert.equal(receipt.bytesConfirmed, bytes);
  assert.ok(receipt.durationUs > 0);
  assert.ok(remote.subarray(0, 7).every((byte) => byte === (operation === 'read' ? byte : 0)));
  await pair.drive(pair.client.deregister(localRegion, 1000));
  await pair.drive(pair.server.deregister(remoteRegion, 1000));
}

for (const [name, settings] of Object.entries(MODES)) {
  test(`engine, ${name}: writes and reads of 1, 23, 4095, 4096 and 1,000,007 bytes`, async () => {
    const pair = await openPair(settings);
    for (const bytes of [1, 23, 4095, 4096, 1_000_007]) {
      await moveAndCheck(pair, 'write', bytes);
      await moveAndCheck(pair, 'read', bytes);
    }
    await pair.close();
  });

  test(`engine, ${name}: a notification follows its data; 0 and 65,536 bytes fit`, async () => {
    const pair = await openPair(settings);
    const bytes = 500_003;
    const local = new Uint8Array(bytes);
    const remote = new Uint8Array(bytes);
    fillPattern(local, 1);
    const blocks = whole(pair.client.register(local), pair.server.register(remote), bytes);
    const transfer = pair.session.write(blocks, { notify: 'landed' });
    while (pair.notifications.length === 0) await pair.drive(sleepMs(0));
    assert.equal(findMismatch(remote, 1), -1, 'every byte was there before');
    await pair.drive(transfer.done);
    const sizes = [0, 65_536, 1];
    for (const size of sizes) await pair.drive(pair.session.notify(new Uint8Array(size)).done);
    while (pair.notifications.length < 4) await pair.drive(sleepMs(0));
    assert.equal(new TextDecoder().decode(pair.notifications[0]?.bytes), 'landed');
    assert.deepEqual(
      pair.notifications.slice(1).map((one) => one.bytes.length),
      sizes,
    );
    assert.equal(pair.notifications[0]?.session, pair.serverSession.face);
    const tooLong = () => pair.session.notify(new Uint8Array(65_537));
    assert.throws(tooLong, withCode('ERR_USAGE_ARGUMENT', /65537/));
    await pair.close();
  });

  test(`engine, ${name}: refusals are typed, and the session goes on`, async () => {
    const pair = await openPair(settings);
    const local = pair.client.register(new Uint8Array(5000));
    const readOnly = pair.server.register(new Uint8Array(5000), { read: true, write: false });
    const gone = pair.server.register(new Uint8Array(5000));
    await pair.server.deregister(gone);
    const open = pair.server.register(new Uint8Array(5000));
    const forged = { ...open, descriptor: { ...open.descriptor, key: 'ab'.repeat(16) } };
    const wide = { ...open, bytes: 9000, descriptor: { ...open.descriptor, bytes: 9000 } };
    const cases = [
      ['ERR_PEER_RIGHTS', readOnly],
      ['ERR_PEER_STALE_REGION', gone],
      ['ERR_PEER_KEY', forged],
      ['ERR_PEER_BOUNDS', wide],
    ] as const;
    for (const [code, remote] of cases) {
      const transfer = pair.session.write(whole(local, remote, 5000), { notify: 'never' });
      await assert.rejects(pair.drive(transfer.done), withCode(code, /server/));
      assert.equal(transfer.status, 'failed');
      assert.ok(isTcpxError(transfer.error, code));
    }
    await pair.drive(pair.session.write(whole(local, open, 5000)).done);
    assert.equal(pair.notifications.length, 0);
    await pair.close();
  });
}

test('engine: 100,000,007 bytes over two lanes and two channels', async () => {
  const pair = await openPair({ 'lane.count': 2, 'flow.channels': 2 });
  await moveAndCheck(pair, 'write', 100_000_007);
  await moveAndCheck(pair, 'read', 100_000_007);
  await pair.close();
});

test('engine: a request is cut for the lanes that it gets, not for all there are', async () => {
  const pair = await openPair({ 'lane.count': 4, 'flow.channels': 4 });
  const local = pair.client.register(new Uint8Array(8 << 20));
  const remote = pair.server.register(new Uint8Array(8 << 20));
  const small = await pair.session.write(whole(local, remote, 1 << 20)).done;
  assert.equal(small.chunks, 2, 'one lane: whole chunks of 512 KiB');
  const large = await pair.session.write(whole(local, remote, 8 << 20)).done;
  assert.ok(
    large.chunks > 16,
    'four lanes: smaller ones towards the end, so that all end together',
  );
  await pair.close();
});

test('engine: the receipt tells channels, chunks and trust', async () => {
  const pair = await openPair({ 'flow.channels': 2, 'flow.chunkBytes': 65536 });
  const local = pair.client.register(new Uint8Array(4_000_000));
  const remote = pair.server.register(new Uint8Array(4_000_000));
  const receipt = await pair.session.write(whole(local, remote, 4_000_000)).done;
  assert.equal(receipt.path, 'tcp host');
  assert.equal(receipt.trust, 'loopback');
  assert.match(receipt.peer, /^server \(127\.0\.0\.1:\d+\)$/);
  const sum = (key: 'bytes' | 'chunks') =>
    receipt.channels.reduce((total, channel) => total + channel[key], 0);
  assert.equal(sum('bytes'), 4_000_000);
  assert.equal(sum('chunks'), receipt.chunks);
  await pair.close();
});

test('engine: ::1, and the name localhost, reach a peer', async () => {
  const six = await openPair({}, {}, { listen: '::1' });
  await moveAndCheck(six, 'write', 10_000);
  assert.match(six.session.peer, /\[::1\]:/);
  await six.close();
  const named = await openPair({}, {}, { listen: '::', connect: 'localhost' });
  await moveAndCheck(named, 'read', 10_000);
  await named.close();
});

test('engine: a wrong block is refused before anything is sent', async () => {
  const pair = await openPair({ 'lane.progress': 'caller' });
  const local = pair.client.register(new Uint8Array(100));
  const remote = pair.server.register(new Uint8Array(100)).descriptor;
  const refused = withCode('ERR_USAGE_ARGUMENT');
  const bad = [
    [0, 0, 0],
    [0, 0, -1],
    [0, 0, 101],
    [1, 0, 100],
    [0, 1, 100],
    [-1, 0, 10],
    [0, -1, 10],
    [0.5, 0, 10],
    [0, 0, 1.5],
    [0, 0, Number.NaN],
    [0, 2 ** 53, 1],
  ];
  for (const [localOffset = 0, remoteOffset = 0, bytes = 0] of bad) {
    const blocks = [{ local, localOffset, remote, remoteOffset, bytes }];
    assert.throws(() => pair.session.write(blocks), refused, String([localOffset, bytes]));
  }
  assert.throws(() => pair.session.read([]), refused);
  await pair.close();
});

test('engine: deregistering a busy region is refused, or waits, then refuses peers', async () => {
  const pair = await openPair({ 'lane.progress': 'caller', 'flow.chunkBytes': 65536 });
  const local = pair.client.register(new Uint8Array(8_000_000));
  const remote = pair.server.register(new Uint8Array(8_000_000));
  const transfer = pair.session.write(whole(local, remote, 8_000_000));
  await assert.rejects(pair.client.deregister(local, 100), withCode('ERR_USAGE_REGION_BUSY'));
  assert.equal(transfer.status, 'active');
  await pair.drive(pair.client.deregister(local, 5000));
  assert.equal(transfer.status, 'done', 'it waited for the transfer');
  assert.throws(() => pair.session.write(whole(local, remote, 8)), withCode('ERR_USAGE_STATE'));
  await assert.rejects(pair.client.deregister(local), withCode('ERR_USAGE_STATE'));
  await pair.close();
});

for (const progress of ['caller', 'lanes'] as const) {
  test(`engine, ${progress}: what a peer has just read may be deregistered at once`, async () => {
    const pair = await openPair({ 'lane.progress': progress });
    const local = pair.client.register(new Uint8Array(8_000_000));
    for (let round = 0; round < 5; round++) {
      const remote = pair.server.register(new Uint8Array(8_000_000).fill(round + 1));
      await pair.drive(pair.session.read(whole(local, remote, 8_000_000)).done);
      await pair.server.deregister(remote);
    }
    await pair.close();
  });
}

test('engine: a region freed too early fails the transfer, never the process', async () => {
  const pair = await openPair({ 'lane.progress': 'caller', 'flow.chunkBytes': 4096 });
  const local = pair.client.register(new Uint8Array(4_000_000));
  const remote = pair.server.register(new Uint8Array(4_000_000));
  const transfer = pair.session.write(whole(local, remote, 4_000_000));
  for (let round = 0; round < 3; round++) {
    pair.client.poll();
    pair.server.poll();
  }
  await pair.drive(pair.server.deregister(remote, 5000));
  await assert.rejects(pair.drive(transfer.done), withCode('ERR_PEER_STALE_REGION'));
  await pair.close();
});

test('engine: a request is posted 10,000 times without growth', async () => {
  const pair = await openPair({ 'lane.progress': 'caller' });
  const local = pair.client.register(new Uint8Array(4096));
  const remote = pair.server.register(new Uint8Array(4096));
  const request = pair.session.prepare('write', whole(local, remote, 4096));
  const post = (count: number) => {
    for (let index = 0; index < count; index++) {
      const transfer = request.post();
      while (transfer.poll() === 'active') pair.server.poll();
      assert.equal(transfer.status, 'done');
    }
  };
  post(1000);
  const before = process.memoryUsage();
  post(10_000);
  const after = process.memoryUsage();
  assert.ok(after.external - before.external < 1e6, 'external memory');
  assert.ok(after.rss - before.rss < 64e6, `rss grew by ${after.rss - before.rss}`);
  request.release();
  request.release();
  assert.throws(() => request.post(), withCode('ERR_USAGE_STATE', /released/));
  await pair.close();
});

test('engine: too many transfers are refused, and nothing stays in use', async () => {
  const pair = await openPair({ 'lane.progress': 'caller', 'memory.transfersMax': 16 });
  const local = pair.client.register(new Uint8Array(4096));
  const remote = pair.server.register(new Uint8Array(4096));
  const blocks = whole(local, remote, 4096);
  for (let round = 0; round < 30; round++) {
    const transfers = [];
    try {
      for (;;) transfers.push(pair.session.write(blocks, { notify: 'x'.repeat(60_000) }));
    } catch (error) {
      assert.ok(isTcpxError(error, 'ERR_USAGE_STATE'), String(error));
    }
    assert.throws(() => pair.session.notify('y'.repeat(60_000)), withCode('ERR_USAGE_STATE'));
    assert.equal(transfers.length, 16);
    await pair.drive(Promise.all(transfers.map((transfer) => transfer.done)));
  }
  await pair.drive(pair.client.deregister(local, 1000));
  await pair.close();
});

test('engine: a stale local region is refused, and nothing stays in use', async () => {
  const pair = await openPair({ 'lane.progress': 'caller' });
  const good = pair.client.register(new Uint8Array(4096));
  const gone = pair.client.register(new Uint8Array(4096));
  const remote = pair.server.register(new Uint8Array(8192));
  await pair.client.deregister(gone);
  const blocks = [...whole(good, remote, 4096), ...whole(gone, remote, 4096)];
  for (let round = 0; round < 200; round++) {
    const write = () => pair.session.write(blocks, { notify: 'x'.repeat(60_000) });
    assert.throws(write, withCode('ERR_USAGE_STATE', /not registered/));
  }
  await pair.client.deregister(good);
  await pair.close();
});

test('engine: cancel, abort and deadline end a transfer with their own code', async () => {
  const settings: Settings = { 'flow.chunkBytes': 4096, 'flow.windowChunks': 1 };
  const pair = await openPair({ ...settings, 'lane.progress': 'caller' });
  const bytes = 4_000_000;
  const local = pair.client.register(new Uint8Array(bytes));
  const remote = pair.server.register(new Uint8Array(bytes));
  const blocks = whole(local, remote, bytes);
  const cancelled = pair.session.write(blocks);
  cancelled.cancel();
  await assert.rejects(pair.drive(cancelled.done), withCode('ERR_XFER_CANCELLED'));
  const aborted = pair.session.read(blocks, { signal: AbortSignal.abort() });
  await assert.rejects(pair.drive(aborted.done), withCode('ERR_XFER_CANCELLED'));
  const late = pair.session.write(blocks, { deadlineMs: 5 });
  late.poll();
  await sleepMs(30); // the server does not poll meanwhile
  await assert.rejects(pair.drive(late.done), withCode('ERR_XFER_DEADLINE'));
  await pair.drive(pair.session.write(whole(local, remote, 4096)).done);
  await pair.close();
});

test('engine: waiting blocks the thread, and gives up in time', async () => {
  const pair = await openPair({ 'lane.progress': 'lanes' });
  const local = pair.client.register(new Uint8Array(1_000_000));
  const remote = pair.server.register(new Uint8Array(1_000_000));
  const transfer = pair.session.write(whole(local, remote, 1_000_000));
  assert.equal(transfer.wait(5000), 'done');
  await pair.close();
  const slow = await openPair({ 'lane.progress': 'caller' });
  const a = slow.client.register(new Uint8Array(4_000_000));
  const b = slow.server.register(new Uint8Array(4_000_000));
  const stuck = slow.session.write(whole(a, b, 4_000_000));
  const startMs = performance.now();
  assert.equal(stuck.wait(50), 'active'); // nobody polls the server
  assert.ok(performance.now() - startMs < 2000);
  await slow.drive(stuck.done);
  await slow.close();
});

test('engine, caller: closing a session needs no other poll', async () => {
  const pair = await openPair({ 'lane.progress': 'caller' });
  await pair.session.close();
  assert.equal(pair.session.state, 'closed');
  await pair.close();
});

test('engine: everything but reading state is refused after close', async () => {
  const pair = await openPair({ 'lane.progress': 'caller' });
  const region = pair.client.register(new Uint8Array(8));
  await pair.close();
  await pair.client.close();
  const closed = withCode('ERR_USAGE_STATE');
  assert.throws(() => pair.client.register(new Uint8Array(8)), closed);
  assert.throws(() => pair.client.listen(), closed);
  assert.throws(() => pair.client.laneStats(), closed);
  assert.throws(() => pair.session.notify('x'), closed);
  await assert.rejects(pair.client.connect('127.0.0.1', 1), closed);
  await assert.rejects(pair.client.deregister(region), closed);
  pair.client.poll();
  assert.deepEqual(pair.client.sessions, []);
});

test('engine: a cancel that comes too late stops nothing, and says so', async () => {
  const pair = await openPair({ 'lane.progress': 'caller' });
  const local = pair.client.register(new Uint8Array(1000).fill(5));
  const memory = new Uint8Array(1000);
  const remote = pair.server.register(memory);
  const inFlight = [
    pair.session.notify('alone'),
    pair.session.write(whole(local, remote, 1000), { notify: 'with data' }),
  ];
  const read = pair.session.read(whole(local, remote, 1000));
  // On its way: the lane has sent it before the cancel comes, and the server has not looked yet.
  pair.client.poll();
  for (const transfer of [...inFlight, read]) transfer.cancel();
  const [, written] = await pair.drive(Promise.all(inFlight.map((transfer) => transfer.done)));
  assert.equal(written?.bytesConfirmed, 1000);
  const heard = pair.notifications.map(({ bytes }) => new TextDecoder().decode(bytes));
  assert.deepEqual(heard, ['alone', 'with data']);
  assert.ok(memory.every((byte) => byte === 5));
  // The answer to a read can still be thrown away, and is: none of it is counted as landed.
  await assert.rejects(pair.drive(read.done), withCode('ERR_XFER_CANCELLED'));
  assert.equal(read.receipt().bytesConfirmed, 0);
  assert.equal(pair.client.laneStats()[0]?.drainedBytes, 1000);
  await pair.close();
});

test('engine: a cancel in time stops a notification, and says so', async () => {
  const pair = await openPair({ 'lane.progress': 'caller', 'flow.windowChunks': 1 });
  const first = pair.session.notify('first');
  const second = pair.session.notify('second');
  pair.client.poll();
  second.cancel();
  await pair.drive(first.done);
  await assert.rejects(pair.drive(second.done), withCode('ERR_XFER_CANCELLED'));
  await pair.drive(pair.session.notify('third').done);
  const heard = pair.notifications.map(({ bytes }) => new TextDecoder().decode(bytes));
  assert.deepEqual(heard, ['first', 'third']);
  await pair.close();
});
