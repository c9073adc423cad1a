import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type ErrorCode, isTcpxError } from '../base/errors.js';
import { type Region, sliceRegion } from '../memory/region.js';
import { checkBlocks } from '../provider/block-columns.js';
import { planRequest } from '../provider/tcp/lane-request.js';
import { Agent } from './agent.js';
import { describeMemory } from './host-memory.js';
import { MemType, XferOp } from './memory-type.js';
import { NixlStatus } from './status.js';
import { columnsOf, TcpxRegionMd, TcpxTargetMd } from './tcpx-columns.js';
import { TransferCost } from './tcpx-cost.js';
import type { XferRequest } from './xfer-request.js';

const NO_TURN = 'polled without a turn of the event loop';
const has = (code: ErrorCode) => (error: unknown) => isTcpxError(error, code);

async function open(t: TestContext, name: string, params: Record<string, string> = {}) {
  const agent = await Agent.create(name);
  t.after(() => agent.close());
  await agent.createBackend('TCPX', params);
  const memory = new Uint8Array(4096);
  const desc = describeMemory(memory);
  await agent.registerMem({ memType: MemType.DRAM, descs: [desc] });
  return { agent, memory, list: { memType: MemType.DRAM, descs: [desc] } };
}

async function untilDone(agent: Agent, request: XferRequest): Promise<number> {
  let status: number = agent.postXferReq(request);
  while (status === NixlStatus.IN_PROG) {
    await new Promise((resolve) => setImmediate(resolve));
    status = agent.getXferStatus(request);
  }
  return status;
}

test('TCPX: is there without asking, takes settings, ignores what is not for it', async (t) => {
  const { agent } = await open(t, 'a', {
    'flow.channels': '2',
    num_threads: '4',
    engine_config: '',
  });
  assert.deepEqual(agent.getAvailPlugins(), ['TCPX']);
  const other = await Agent.create('b');
  t.after(() => other.close());
  const isBad = has('ERR_CONFIG_VALUE');
  await assert.rejects(other.createBackend('TCPX', { 'flow.channels': 'many' }), isBad);
});

test('TCPX: a parameter that nobody reads is warned of, with the one that was meant', async (t) => {
  const lines: { event: string; fields: unknown }[] = [];
  const warn = (event: string, fields: unknown) => lines.push({ event, fields });
  const quiet = () => undefined;
  const log = { error: warn, warn, info: quiet, debug: quiet, trace: quiet };
  const agent = await Agent.create('a', { log });
  t.after(() => agent.close());
  await agent.createBackend('TCPX', {
    'trust.secret': 'one secret of many bytes',
    'flow.chanels': '2',
    colour: 'blue',
    num_workers: '1',
    ucx_error_handling_mode: 'peer',
  });
  const warned = lines.filter(({ event }) => event === 'backend parameter ignored');
  assert.deepEqual(
    warned.map(({ fields }) => fields),
    [
      { backend: 'TCPX', name: 'flow.chanels', reason: 'no setting; did you mean flow.channels?' },
      { backend: 'TCPX', name: 'colour', reason: 'no setting' },
    ],
    'those of NIXL’s other backends are ignored in silence',
  );
});

test('TCPX: who polls notifications without the event loop is told, once', async (t) => {
  const lines: string[] = [];
  const note = (event: string) => lines.push(event);
  const quiet = () => undefined;
  const log = { error: note, warn: note, info: quiet, debug: quiet, trace: quiet };
  const agent = await Agent.create('a', { log });
  t.after(() => agent.close());
  await agent.createBackend('TCPX', { 'trust.secret': 'one secret of many bytes' });
  for (const stop = Date.now() + 60_000; !lines.includes(NO_TURN) && Date.now() < stop; ) {
    agent.getNotifs();
  }
  for (let round = 0; round < 5000; round++) agent.getNotifs();
  assert.deepEqual(lines, [NO_TURN]);
});

test('TCPX: VRAM that is none, and storage, are refused', async (t) => {
  const { agent } = await open(t, 'a');
  const descs = [{ addr: 4096, len: 64, devId: 0 }];
  await assert.rejects(agent.registerMem({ memType: MemType.VRAM, descs }), (error) => {
    // Without a driver, and with one that does not know the address.
    return isTcpxError(error, 'ERR_CAP_GPU') || isTcpxError(error, 'ERR_USAGE_ARGUMENT');
  });
  const isRefused = has('ERR_USAGE_NOT_FOUND');
  await assert.rejects(agent.registerMem({ memType: MemType.FILE, descs }), isRefused);
});

test('TCPX: a peer that refuses is not lost: another status, not evicted', async (t) => {
  const a = await open(t, 'a', { 'trust.secret': 'one secret of many bytes' });
  const b = await open(t, 'b', { 'trust.secret': 'another secret of as many' });
  const blob = b.agent.getLocalMD();
  a.agent.loadRemoteMD(blob);
  const request = a.agent.createXferReq(XferOp.WRITE, a.list, b.list, 'b');
  const status = await untilDone(a.agent, request);
  assert.ok(status < 0 && status !== NixlStatus.ERR_REMOTE_DISCONNECT, String(status));
  assert.equal(a.agent.checkRemoteMD('b'), NixlStatus.SUCCESS);
  await assert.rejects(a.agent.waitXferReq(request), (error) => isTcpxError(error));
});

test('TCPX: more posts than transfers fit wait for room', async (t) => {
  const a = await open(t, 'a', { 'memory.transfersMax': '16' });
  const b = await open(t, 'b');
  a.agent.loadRemoteMD(b.agent.getLocalMD());
  a.memory.fill(6);
  const [here, there] = [a.list.descs[0]?.addr ?? 0, b.list.descs[0]?.addr ?? 0];
  const requests = Array.from({ length: 500 }, (_, index) => {
    const local = { memType: MemType.DRAM, descs: [[here + index * 8, 8, 0] as const] };
    const remote = { memType: MemType.DRAM, descs: [[there + index * 8, 8, 0] as const] };
    return a.agent.createXferReq(XferOp.WRITE, local, remote, 'b', { notif: String(index) });
  });
  for (const request of requests) assert.equal(a.agent.postXferReq(request), NixlStatus.IN_PROG);
  for (const request of requests) await a.agent.waitXferReq(request);
  assert.ok(b.memory.subarray(0, 4000).every((byte) => byte === 6));
  for (const request of requests) assert.equal(a.agent.releaseXferReq(request), 0);
});

test('TCPX: a post that waited for room is posted once, whoever lets it go', async (t) => {
  const a = await open(t, 'a', { 'memory.transfersMax': '16' });
  const b = await open(t, 'b');
  a.agent.loadRemoteMD(b.agent.getLocalMD());
  await a.agent.makeConnection('b');
  const requests = Array.from({ length: 64 }, (_, index) =>
    a.agent.createXferReq(XferOp.WRITE, a.list, b.list, 'b', { notif: String(index) }),
  );
  for (const request of requests) assert.equal(a.agent.postXferReq(request), NixlStatus.IN_PROG);
  // Looks at the last alone, so what lets it go is its own look.
  const last = requests.at(-1);
  assert.ok(last !== undefined);
  while (a.agent.getXferStatus(last) === NixlStatus.IN_PROG);
  for (const request of requests) await a.agent.waitXferReq(request);
  for (const request of requests) assert.equal(a.agent.releaseXferReq(request), 0);
  const texts: string[] = [];
  while (texts.length < requests.length) {
    const notifs = (await b.agent.waitNotifs(10_000)).get('a') ?? [];
    texts.push(...notifs.map((notif) => Buffer.from(notif).toString()));
  }
  assert.deepEqual(
    texts.map(Number).sort((x, y) => x - y),
    requests.map((_, index) => index),
  );
});

test('TCPX: columns plan the same chunks as blocks do', () => {
  const rights = { read: true, write: true };
  const key = '0123456789abcdef0123456789abcdef';
  const makeRegion = (id: number) => {
    const descriptor = { slot: id, generation: 1, bytes: 8192, key };
    const source = { addr: 2 ** 20 * (id + 1), bytes: 8192 };
    const region: Region = {
      id,
      generation: 1,
      ...source,
      rights,
      descriptor,
      source,
      slice: (from, to) => sliceRegion(region, from, to),
    };
    return region;
  };
  const regions = [makeRegion(0), makeRegion(1)];
  const locals = regions.map((region) => new TcpxRegionMd(region, { ...region, len: 1, devId: 0 }));
  const remotes = regions.map(({ addr, descriptor }) => new TcpxTargetMd('b', addr, descriptor));
  const rows = Array.from({ length: 64 }, (_, index) => ({
    at: (index * 7) % 2,
    offset: ((index * 13) % 64) * 128,
  }));
  const side = (mds: readonly unknown[]) => ({
    memType: MemType.DRAM,
    count: 64,
    addrs: Float64Array.from(rows, (row) => (regions[row.at]?.addr ?? 0) + row.offset),
    lens: new Float64Array(64).fill(100),
    devIds: new Float64Array(64),
    mds: rows.map((row) => mds[row.at]),
  });
  const limits = { chunkBytes: 4096, channels: 2 };
  const columns = planRequest(checkBlocks(columnsOf(side(locals), side(remotes), 'b')), limits);
  const blocks = rows.map(({ at, offset }) => {
    const region = regions[at] ?? makeRegion(at);
    const remote = region.descriptor;
    return { local: region, localOffset: offset, remote, remoteOffset: offset, bytes: 100 };
  });
  assert.deepEqual(planRequest(checkBlocks(blocks), limits), columns);
  assert.throws(() => columnsOf(side(locals), side(remotes), 'c'), has('ERR_USAGE_ARGUMENT'));
  assert.throws(() => columnsOf(side(remotes), side(locals), 'b'), has('ERR_USAGE_ARGUMENT'));
});

test('TCPX: the cost estimate comes to what was seen, and its margin shrinks', () => {
  const cost = new TransferCost();
  const first = cost.estimate(1 << 20);
  assert.equal(first.errorMarginUs, first.durationUs);
  for (let index = 0; index < 200; index++) {
    cost.observe(4096, 20);
    cost.observe(8 << 20, 20 + (8 << 20) / 2000);
  }
  const seen = cost.estimate(16 << 20);
  const expectedUs = 20 + (16 << 20) / 2000;
  assert.ok(Math.abs(seen.durationUs - expectedUs) < expectedUs / 10, String(seen.durationUs));
  assert.ok(seen.errorMarginUs < seen.durationUs / 10);
});
