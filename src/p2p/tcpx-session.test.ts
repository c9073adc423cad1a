import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { simulatedRange } from '../../test/support/gpu-memory.js';
import { SIMULATED_GPU_MODULE } from '../../test/support/simulated-gpu.js';
import { type ErrorCode, isTcpxError } from '../base/errors.js';
import { silentLog } from '../base/log.js';
import type { SettingValues } from '../base/settings.js';
import type { Receive } from './operation.js';
import { TcpxSession } from './tcpx-session.js';
import type { TcpxTransfer } from './tcpx-transfer.js';

const has = (code: ErrorCode) => (error: unknown) => isTcpxError(error, code);

async function open(
  t: TestContext,
  name: string,
  settings: Partial<SettingValues> = {},
  gpuModule?: URL,
) {
  const gpus = gpuModule === undefined ? {} : { gpuModule };
  const session = await TcpxSession.open({ name, settings, log: silentLog, ...gpus });
  t.after(() => session.close());
  return session;
}

async function openPair(t: TestContext, settings: Partial<SettingValues> = {}, gpuModule?: URL) {
  const server = await open(t, 'server', settings, gpuModule);
  const client = await open(t, 'client', settings, gpuModule);
  client.loadRemoteConnInfo('server', server.listen());
  await Promise.all([server.accept('client'), client.connect('server')]);
  return {
    server,
    client,
    out: client.createTransfer('server'),
    in: server.createTransfer('client'),
  };
}

async function both(...transfers: TcpxTransfer[]): Promise<void> {
  await Promise.all(transfers.map((transfer) => transfer.wait(20_000)));
}

const MODES: readonly Partial<SettingValues>[] = [
  { 'lane.progress': 'lanes' },
  { 'lane.progress': 'caller' },
  { 'lane.progress': 'lanes', 'lane.count': 2, 'flow.channels': 4 },
];

for (const settings of MODES) {
  const mode = Object.values(settings).join(' ');

  test(`p2p, ${mode}: sends land in the receives of their turn, whoever posts first`, async (t) => {
    const pair = await openPair(t, settings);
    const source = new Uint8Array(4096).map((_, index) => index * 7);
    const target = new Uint8Array(4096);
    const from = pair.client.registerMemory(source, 'send');
    const to = pair.server.registerMemory(target, 'receive');
    const receives: Receive[] = [];
    for (let index = 0; index < 8; index++) {
      if (index % 2 === 0) pair.out.postSend(from, index * 512, 512, 100 + index);
      receives.push(pair.in.postRecv(to, (7 - index) * 512, 512, 100 + index));
      if (index % 2 === 1) pair.out.postSend(from, index * 512, 512, 100 + index);
    }
    await both(pair.out, pair.in);
    for (let index = 0; index < 8; index++) {
      const got = target.subarray((7 - index) * 512, (8 - index) * 512);
      assert.deepEqual(got, source.subarray(index * 512, (index + 1) * 512));
    }
    assert.deepEqual(pair.out.sends, { posted: 8, completed: 8, failed: 0 });
    assert.deepEqual(pair.in.sends, { posted: 0, completed: 0, failed: 0 });
    assert.equal(pair.in.receives.completed, 8);
    await assert.rejects(pair.in.release(), has('ERR_USAGE_STATE'));
    for (const receive of receives) await pair.in.consume(receive);
    await pair.in.release();
    await pair.out.release();
    assert.throws(() => pair.out.postSend(from, 0, 1, 1), has('ERR_USAGE_STATE'));
  });
}

test('p2p: GPU memory is registered as GPU memory, also for each receive', async (t) => {
  const pair = await openPair(t, {}, SIMULATED_GPU_MODULE);
  for (const [from, to] of [
    [simulatedRange(4096), simulatedRange(4096)],
    [simulatedRange(4096), new Uint8Array(4096)],
    [new Uint8Array(4096), simulatedRange(4096)],
  ] as const) {
    const [source, target] = [from, to].map((one) => ('memory' in one ? one.memory : one));
    assert.ok(source !== undefined && target !== undefined);
    source.forEach((_, index) => (source[index] = index * 7));
    pair.out.postSend(pair.client.registerMemory(from), 512, 1024, 1);
    const receive = pair.in.postRecv(pair.server.registerMemory(to), 2048, 1024, 1);
    await both(pair.out, pair.in);
    assert.deepEqual(target.slice(2048, 3072), source.slice(512, 1536));
    await pair.in.consume(receive);
  }
});

test('p2p: both directions at once are counted apart', async (t) => {
  const pair = await openPair(t);
  const [a, b] = [new Uint8Array(64).fill(1), new Uint8Array(64).fill(2)];
  const [here, there] = [pair.client.registerMemory(a), pair.server.registerMemory(b)];
  pair.out.postSend(here, 0, 32, 1);
  const answer = pair.out.postRecv(here, 32, 32, 2);
  const question = pair.in.postRecv(there, 32, 32, 1);
  pair.in.postSend(there, 0, 32, 2);
  await both(pair.out, pair.in);
  assert.deepEqual([a[40], b[40]], [2, 1]);
  for (const transfer of [pair.out, pair.in]) {
    assert.equal(transfer.sends.completed, 1);
    assert.equal(transfer.receives.completed, 1);
  }
  await pair.out.consume(answer);
  await pair.in.consume(question);
  await assert.rejects(pair.in.consume(question), has('ERR_USAGE_ARGUMENT'));
});

test('p2p: a send prints as one, and cannot be consumed, by type and at run time', async (t) => {
  const pair = await openPair(t);
  const memory = pair.client.registerMemory(new Uint8Array(8));
  const target = pair.server.registerMemory(new Uint8Array(8));
  const send = pair.out.postSend(memory, 0, 8, 1);
  const receive = pair.in.postRecv(target, 0, 8, 1);
  await both(pair.out, pair.in);
  assert.match(inspect(send), /^Send \{ 8 B at 0 of memory 1, tag 1, \w+ \}$/);
  assert.match(inspect(receive), /^Receive \{ 8 B at 0 of memory 1, tag 1, \w+ \}$/);
  // @ts-expect-error a send is not a receive
  await assert.rejects(pair.out.consume(send), has('ERR_USAGE_ARGUMENT'));
  await assert.rejects(pair.out.consume(receive), has('ERR_USAGE_ARGUMENT'));
  await pair.in.consume(receive);
});

const MISFITS = [
  ['another tag', 'ERR_XFER_ORDER', 64, 9],
  ['a shorter send', 'ERR_XFER_SHORT', 32, 1],
  ['a longer send', 'ERR_XFER_OVERSIZE', 128, 1],
] as const;

for (const [what, code, bytes, tag] of MISFITS) {
  test(`p2p: ${what} fails on both ends as ${code}, and the next pair goes on`, async (t) => {
    const pair = await openPair(t);
    const target = new Uint8Array(256);
    const from = pair.client.registerMemory(new Uint8Array(256).fill(3));
    const to = pair.server.registerMemory(target);
    pair.out.postSend(from, 0, bytes, tag);
    pair.in.postRecv(to, 0, 64, 1);
    await assert.rejects(pair.out.wait(20_000), has(code));
    await assert.rejects(pair.in.wait(20_000), has(code));
    assert.ok(
      target.every((byte) => byte === 0),
      'not a byte was written',
    );
    const [out, inward] = [
      pair.client.createTransfer('server'),
      pair.server.createTransfer('client'),
    ];
    out.postSend(from, 0, 64, 2);
    const receive = inward.postRecv(to, 64, 64, 2);
    await both(out, inward);
    assert.ok(target.subarray(64, 128).every((byte) => byte === 3));
    await inward.consume(receive);
    await inward.release();
    await pair.in.release();
  });
}

test('p2p: what has no counterpart is late in wait, and unmatched after the end', async (t) => {
  const pair = await openPair(t);
  const from = pair.client.registerMemory(new Uint8Array(8));
  const to = pair.client.registerMemory(new Uint8Array(8));
  const send = pair.out.postSend(from, 0, 8, 1);
  const receive = pair.out.postRecv(to, 0, 8, 1);
  await assert.rejects(pair.out.wait(50), has('ERR_XFER_DEADLINE'));
  await assert.rejects(pair.out.release(), has('ERR_USAGE_STATE'));
  await pair.client.disconnect('server');
  await assert.rejects(pair.out.wait(20_000), has('ERR_XFER_UNMATCHED'));
  assert.ok(isTcpxError(send.error, 'ERR_XFER_UNMATCHED'));
  assert.ok(isTcpxError(receive.error, 'ERR_XFER_UNMATCHED'));
  await pair.out.release();
  await pair.client.deregisterMemory(to);
});

test('p2p: what is posted after the peer is lost fails as what waited for it', async (t) => {
  const pair = await openPair(t);
  const from = pair.client.registerMemory(new Uint8Array(8));
  const before = pair.out.postSend(from, 0, 8, 1);
  await pair.server.close();
  await assert.rejects(pair.out.wait(20_000), has('ERR_XFER_UNMATCHED'));
  const later = [pair.out.postSend(from, 0, 8, 2), pair.out.postRecv(from, 0, 8, 3)];
  for (const { state, error } of later) {
    assert.equal(state, 'failed');
    assert.ok(isTcpxError(error, 'ERR_XFER_UNMATCHED'));
    assert.equal(error.cause, before.error?.cause, 'the loss that ended the session');
    assert.ok(isTcpxError(error.cause, 'ERR_PEER_GOODBYE'));
  }
  await pair.out.release();
  await pair.client.deregisterMemory(from);
});

test('p2p: roles follow from the first call, and the other role is refused', async (t) => {
  const server = await open(t, 'server');
  const client = await open(t, 'client');
  assert.deepEqual([server.role, client.role], ['none', 'none']);
  await assert.rejects(server.accept('client'), has('ERR_USAGE_STATE'));
  await assert.rejects(client.connect('server'), has('ERR_USAGE_STATE'));
  const info = server.listen();
  assert.throws(() => server.loadRemoteConnInfo('x', info), has('ERR_USAGE_STATE'));
  assert.throws(() => client.loadRemoteConnInfo('server', 'junk'), has('ERR_WIRE_METADATA'));
  client.loadRemoteConnInfo('server', info);
  assert.throws(() => client.listen(), has('ERR_USAGE_STATE'));
  assert.deepEqual([server.role, client.role], ['server', 'client']);
  assert.throws(() => client.createTransfer('server'), has('ERR_USAGE_NOT_FOUND'));
  await assert.rejects(server.accept('client', 50), has('ERR_PEER_TIMEOUT'));
});

test('p2p: memory is named by number and offset, from 1, and bounds are checked', async (t) => {
  const pair = await openPair(t);
  const first = pair.client.registerMemory(new Uint8Array(64), 'send');
  const second = pair.client.registerMemory(new Uint8Array(64), 'receive');
  assert.deepEqual([first, second], [1, 2]);
  assert.equal(pair.client.getMemoryHandle(1).bytes, 64);
  const refusals: readonly [ErrorCode, () => unknown][] = [
    ['ERR_USAGE_NOT_FOUND', () => pair.out.postSend(3, 0, 8, 1)],
    ['ERR_USAGE_ARGUMENT', () => pair.out.postSend(1, 60, 8, 1)],
    ['ERR_USAGE_ARGUMENT', () => pair.out.postSend(1, -1, 8, 1)],
    ['ERR_USAGE_ARGUMENT', () => pair.out.postSend(1, 0, 0, 1)],
    ['ERR_USAGE_ARGUMENT', () => pair.out.postSend(1, 0, 8, -1)],
    ['ERR_USAGE_ARGUMENT', () => pair.out.postSend(2, 0, 8, 1)],
    ['ERR_USAGE_ARGUMENT', () => pair.out.postRecv(1, 0, 8, 1)],
  ];
  for (const [code, call] of refusals) assert.throws(call, has(code));
  assert.equal(pair.out.sends.posted + pair.out.receives.posted, 0);
  await pair.client.deregisterMemory(first);
  assert.throws(() => pair.out.postSend(1, 0, 8, 1), has('ERR_USAGE_NOT_FOUND'));
  assert.equal(pair.client.registerMemory(new Uint8Array(8)), 3);
});

test('p2p: 1,000 registrations, interleaved transfers, every slot freed', async (t) => {
  const pair = await openPair(t, { 'memory.regionsMax': 2100 });
  const sources = Array.from({ length: 1000 }, (_, index) => new Uint8Array(16).fill(index));
  const targets = Array.from({ length: 1000 }, () => new Uint8Array(16));
  const from = sources.map((memory) => pair.client.registerMemory(memory, 'send'));
  const to = targets.map((memory) => pair.server.registerMemory(memory, 'receive'));
  // Twice over: with 2,100 regions the second round has slots only if the first gave them back.
  for (let round = 0; round < 2; round++) {
    const out = pair.client.createTransfer('server');
    const inward = pair.server.createTransfer('client');
    const receives = to.map((id, index) => {
      out.postSend(from[(index * 7) % 1000] ?? 0, 0, 16, index);
      return inward.postRecv(id, 0, 16, index);
    });
    await both(out, inward);
    for (const [index, target] of targets.entries()) {
      assert.deepEqual(target, sources[(index * 7) % 1000]);
    }
    for (const receive of receives) await inward.consume(receive);
    await inward.release();
    for (const target of targets) target.fill(0);
  }
});

test('p2p: 3,000 posts at once wait for room instead of failing', async (t) => {
  const settings = { 'memory.transfersMax': 16, 'memory.regionsMax': 4096 };
  const pair = await openPair(t, settings);
  const target = new Uint8Array(3000);
  const from = pair.client.registerMemory(new Uint8Array(3000).fill(5));
  const to = pair.server.registerMemory(target);
  for (let index = 0; index < 3000; index++) {
    pair.in.postRecv(to, index, 1, index);
    pair.out.postSend(from, index, 1, index);
  }
  await both(pair.out, pair.in);
  assert.ok(target.every((byte) => byte === 5));
});

test('p2p: a batch posts every entry in order, or none', async (t) => {
  const pair = await openPair(t);
  const target = new Uint8Array(64);
  const from = pair.client.registerMemory(new Uint8Array(64).map((_, index) => index + 1));
  const to = pair.server.registerMemory(target);
  const good = { offsets: [0, 8, 16], sizes: [8, 8, 16], tags: [1, 2, 3] };
  const bad = { ...good, sizes: [8, 8, 60] };
  const short = { ...good, tags: [1, 2] };
  const ids = (id: number) => ({ memIds: [id, id, id] });
  for (const columns of [bad, short]) {
    assert.throws(
      () => pair.out.postSendBatch({ ...ids(from), ...columns }),
      has('ERR_USAGE_ARGUMENT'),
    );
    assert.throws(
      () => pair.in.postRecvBatch({ ...ids(to), ...columns }),
      has('ERR_USAGE_ARGUMENT'),
    );
  }
  assert.equal(pair.out.sends.posted + pair.in.receives.posted, 0);
  assert.equal(pair.out.postSendBatch({ ...ids(from), ...good }).length, 3);
  const receives = pair.in.postRecvBatch({ ...ids(to), ...good });
  await both(pair.out, pair.in);
  for (let index = 0; index < 64; index++) assert.equal(target[index], index < 32 ? index + 1 : 0);
  for (const receive of receives) await pair.in.consume(receive);
  await pair.in.release();
  // Nothing of the refused batches holds the memory.
  await pair.server.deregisterMemory(to);
});
