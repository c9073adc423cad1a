// Registration and metadata through the agent's verbs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMockAgent, openMockPair, piecesOf, regionOf } from '../../test/support/mock-agents.js';
import { MockNetwork } from '../../test/support/mock-network.js';
import { type ErrorCode, isTcpxError, TcpxError } from '../base/errors.js';
import { Agent } from './agent.js';
import { openBackendOf } from './backend-set.js';
import { MemType, XferOp } from './memory-type.js';
import { decodeMetadata, encodeMetadata } from './metadata.js';
import { NixlStatus } from './status.js';

const S = NixlStatus;

function throwsCode(body: () => unknown, code: ErrorCode): void {
  assert.throws(body, (error) => isTcpxError(error, code));
}

async function rejectsCode(promise: Promise<unknown>, code: ErrorCode): Promise<void> {
  await assert.rejects(promise, (error) => isTcpxError(error, code));
}

test('agent: empty and overlong names are refused', async () => {
  await rejectsCode(Agent.create(''), 'ERR_USAGE_ARGUMENT');
  await rejectsCode(Agent.create('x'.repeat(256)), 'ERR_USAGE_ARGUMENT');
  await rejectsCode(Agent.create('a\0b'), 'ERR_USAGE_ARGUMENT');
});

test('registerMem: all or nothing, what succeeded is given back', async (t) => {
  const { a, network } = await openMockPair(t);
  const good = network.allocate(64);
  const list = {
    memType: MemType.VRAM,
    descs: [
      { addr: good.addr, len: 64, devId: 0 },
      { addr: 0x10, len: 64, devId: 0 },
    ],
  };
  await rejectsCode(a.agent.registerMem(list), 'ERR_USAGE_ARGUMENT');
  assert.equal(network.callCount('a', 'deregisterMem'), 1);
  const sections = decodeMetadata(a.agent.getLocalMD()).sections;
  assert.deepEqual(
    sections.map((section) => section.memType),
    [MemType.DRAM],
  );
});

test('registerMem: nonsense ranges are refused before a backend sees them', async (t) => {
  const { a, network } = await openMockPair(t);
  const before = network.callCount('a', 'registerMem');
  for (const desc of [
    { addr: -1, len: 8, devId: 0 },
    { addr: 0.5, len: 8, devId: 0 },
    { addr: 0, len: 0, devId: 0 },
    { addr: 2 ** 53, len: 8, devId: 0 },
    { addr: 0, len: Number.NaN, devId: 0 },
  ]) {
    const list = { memType: MemType.DRAM, descs: [desc] };
    await rejectsCode(a.agent.registerMem(list), 'ERR_USAGE_ARGUMENT');
  }
  assert.equal(network.callCount('a', 'registerMem'), before);
});

test('deregisterMem: ranges must match exactly; one missing keeps all', async (t) => {
  const { a, network } = await openMockPair(t);
  const [desc] = regionOf(a.memory).descs;
  const list = (...descs: { addr: number; len: number; devId: number }[]) => ({
    memType: MemType.DRAM,
    descs,
  });
  const part = { ...desc!, len: 8 };
  await rejectsCode(a.agent.deregisterMem(list(part)), 'ERR_USAGE_NOT_FOUND');
  await rejectsCode(a.agent.deregisterMem(list(desc!, part)), 'ERR_USAGE_NOT_FOUND');
  await rejectsCode(a.agent.deregisterMem(list(desc!, desc!)), 'ERR_USAGE_NOT_FOUND');
  assert.equal(network.callCount('a', 'deregisterMem'), 0);
  await a.agent.deregisterMem(list(desc!));
  assert.equal(network.callCount('a', 'unloadMD'), 1);
  assert.equal(network.callCount('a', 'deregisterMem'), 1);
  await rejectsCode(a.agent.deregisterMem(list(desc!)), 'ERR_USAGE_NOT_FOUND');
});

test('deregisterMem: a backend that refuses keeps the registration', async (t) => {
  const { a, b } = await openMockPair(t);
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b');
  const { backend } = openBackendOf(a.agent.queryXferBackend(request));
  const real = backend.deregisterMem.bind(backend);
  backend.deregisterMem = () => {
    throw new TcpxError('ERR_USAGE_REGION_BUSY', 'in use');
  };
  await rejectsCode(a.agent.deregisterMem(regionOf(a.memory)), 'ERR_USAGE_REGION_BUSY');
  assert.equal(a.agent.postXferReq(request), S.SUCCESS);
  backend.deregisterMem = real;
  await a.agent.deregisterMem(regionOf(a.memory));
});

test('getLocalMD: full, partial, and connection info alone', async (t) => {
  const { a, network } = await openMockPair(t);
  const second = network.allocate(64);
  await a.agent.registerMem(regionOf(second));
  const count = (blob: Uint8Array) => {
    const { connections, sections } = decodeMetadata(blob);
    return [connections.length, sections.flatMap((section) => section.descs).length];
  };
  assert.deepEqual(count(a.agent.getLocalMD()), [1, 2]);
  const list = regionOf(second);
  assert.deepEqual(count(a.agent.getLocalPartialMD(list)), [0, 1]);
  const withInfo = a.agent.getLocalPartialMD(list, { includeConnInfo: true });
  assert.deepEqual(count(withInfo), [1, 1]);
  const nothing = { memType: MemType.DRAM, descs: [] };
  assert.deepEqual(count(a.agent.getLocalPartialMD(nothing)), [1, 0]);
  const unknown = { memType: MemType.DRAM, descs: [{ addr: 1, len: 1, devId: 0 }] };
  throwsCode(() => a.agent.getLocalPartialMD(unknown), 'ERR_USAGE_NOT_FOUND');
  const bare = await Agent.create('bare');
  throwsCode(() => bare.getLocalMD(), 'ERR_USAGE_ARGUMENT');
});

test('loadRemoteMD: parts add up, repeats are skipped', async (t) => {
  const network = new MockNetwork();
  const a = await openMockAgent(t, network, 'a');
  const b = await openMockAgent(t, network, 'b');
  const second = network.allocate(64);
  await b.agent.registerMem(regionOf(second));
  const nothing = { memType: MemType.DRAM, descs: [] };
  assert.equal(a.agent.checkRemoteMD('b'), S.ERR_NOT_FOUND);
  assert.equal(a.agent.loadRemoteMD(b.agent.getLocalPartialMD(nothing)), 'b');
  assert.equal(a.agent.checkRemoteMD('b'), S.SUCCESS);
  const here = piecesOf(b.memory, [0, 8]);
  const there = piecesOf(second, [0, 8]);
  assert.equal(a.agent.checkRemoteMD('b', here), S.ERR_NOT_FOUND);
  a.agent.loadRemoteMD(b.agent.getLocalPartialMD(regionOf(b.memory)));
  assert.equal(a.agent.checkRemoteMD('b', here), S.SUCCESS);
  assert.equal(a.agent.checkRemoteMD('b', there), S.ERR_NOT_FOUND);
  a.agent.loadRemoteMD(b.agent.getLocalMD());
  assert.equal(a.agent.checkRemoteMD('b', there), S.SUCCESS);
  assert.equal(network.callCount('a', 'loadRemoteMD'), 2);
  assert.equal(network.callCount('a', 'loadRemoteConnInfo'), 1);
});

test('loadRemoteMD: malformed is MISMATCH and changes nothing', async (t) => {
  const { a } = await openMockPair(t);
  throwsCode(() => a.agent.loadRemoteMD(Buffer.from('rubbish')), 'ERR_WIRE_METADATA');
  assert.equal(a.agent.checkRemoteMD('b'), S.SUCCESS);
});

test('loadRemoteMD: a blob beyond the limit is refused before it is read', async (t) => {
  const settings = { 'nixl.metadataBytesMax': 64 * 1024 };
  const { a } = await openMockPair(t, { settings });
  const long = Buffer.alloc(64 * 1024 + 1);
  throwsCode(() => a.agent.loadRemoteMD(long), 'ERR_WIRE_LIMIT');
});

test('loadRemoteMD: unknown backends are skipped; none in common is BACKEND', async (t) => {
  const { a, b } = await openMockPair(t);
  const known = decodeMetadata(b.agent.getLocalMD());
  const alien = { type: 'UCX', info: Buffer.from('?') };
  const alienSection = { ...known.sections[0]!, type: 'UCX' };
  a.agent.loadRemoteMD(
    encodeMetadata({
      ...known,
      connections: [alien, ...known.connections],
      sections: [alienSection, ...known.sections],
    }),
  );
  const foreign = encodeMetadata({ agent: 'c', connections: [alien], sections: [] });
  throwsCode(() => a.agent.loadRemoteMD(foreign), 'ERR_CAP_BACKEND');
  assert.equal(a.agent.checkRemoteMD('c'), S.ERR_NOT_FOUND);
});

test('loadRemoteMD: a failure among the regions wipes the peer', async (t) => {
  const evicted: string[] = [];
  const onPeerEvicted = (name: string) => evicted.push(name);
  const { a, b, network } = await openMockPair(t, { onPeerEvicted });
  const known = decodeMetadata(b.agent.getLocalMD());
  const [section] = known.sections;
  const changedKey = { ...section!.descs[0]!, metaInfo: Buffer.alloc(16, 1) };
  const changed = { ...known, sections: [{ ...section!, descs: [changedKey] }] };
  throwsCode(() => a.agent.loadRemoteMD(encodeMetadata(changed)), 'ERR_PEER_CHANGED');
  assert.equal(a.agent.checkRemoteMD('b'), S.ERR_NOT_FOUND);
  assert.equal(network.callCount('a', 'disconnect'), 1);
  const empty = { ...known, sections: [{ ...section!, descs: [] }] };
  throwsCode(() => a.agent.loadRemoteMD(encodeMetadata(empty)), 'ERR_USAGE_NOT_FOUND');
  assert.deepEqual(evicted, ['b'], 'a peer that was never known is not announced as gone');
  a.agent.loadRemoteMD(b.agent.getLocalMD());
  assert.equal(a.agent.checkRemoteMD('b'), S.SUCCESS);
});

test('invalidateRemoteMD: unknown agents, and order unload before disconnect', async (t) => {
  const { a, network } = await openMockPair(t);
  throwsCode(() => a.agent.invalidateRemoteMD('nobody'), 'ERR_USAGE_NOT_FOUND');
  network.isRecording = true;
  a.agent.invalidateRemoteMD('b');
  assert.deepEqual(network.calls, ['a.unloadMD', 'a.disconnect']);
});

test('makeConnection: connects what is in common, refuses what is not', async (t) => {
  const { a, network } = await openMockPair(t);
  await a.agent.makeConnection('b');
  await rejectsCode(a.agent.makeConnection('nobody'), 'ERR_USAGE_NOT_FOUND');
  network.kill('b');
  await rejectsCode(a.agent.makeConnection('b'), 'ERR_PEER_UNREACHABLE');
});

test('prepXferDlist: ranges must be covered; sides must not be swapped', async (t) => {
  const { a, b } = await openMockPair(t);
  throwsCode(() => a.agent.prepXferDlist('', piecesOf(a.memory, [4090, 8])), 'ERR_USAGE_NOT_FOUND');
  throwsCode(
    () => a.agent.prepXferDlist('b', piecesOf(b.memory, [4096, 1])),
    'ERR_USAGE_NOT_FOUND',
  );
  throwsCode(
    () => a.agent.prepXferDlist('nobody', piecesOf(b.memory, [0, 1])),
    'ERR_USAGE_NOT_FOUND',
  );
  const local = a.agent.prepXferDlist('', piecesOf(a.memory, [0, 8], [8, 8]));
  const remote = a.agent.prepXferDlist('b', piecesOf(b.memory, [0, 8]));
  const make = (...args: [typeof local, number[], typeof local, number[]]) =>
    a.agent.makeXferReq(XferOp.READ, ...args);
  throwsCode(() => make(remote, [0], local, [0]), 'ERR_USAGE_ARGUMENT');
  throwsCode(() => make(local, [], remote, []), 'ERR_USAGE_ARGUMENT');
  throwsCode(() => make(local, [0, 1], remote, [0]), 'ERR_USAGE_ARGUMENT');
  throwsCode(() => make(local, [2], remote, [0]), 'ERR_USAGE_ARGUMENT');
  throwsCode(() => make(local, [0.5], remote, [0]), 'ERR_USAGE_ARGUMENT');
  assert.equal(make(local, [1], remote, [0]).totalBytes, 8);
  a.agent.releasedDlistH(local);
  throwsCode(() => make(local, [1], remote, [0]), 'ERR_USAGE_ARGUMENT');
});

test('registrations: 1,000 of them, interleaved transfers', async (t) => {
  const { a, b, network } = await openMockPair(t);
  const blocks = Array.from({ length: 1000 }, () => network.allocate(32));
  const descs = blocks.map((block) => ({ addr: block.addr, len: 32, devId: 0 }));
  await b.agent.registerMem({ memType: MemType.DRAM, descs });
  a.agent.loadRemoteMD(b.agent.getLocalMD());
  a.memory.bytes.fill(7);
  network.pollsPerTransfer = 2;
  const requests = blocks.map((block, i) =>
    a.agent.createXferReq(XferOp.WRITE, piecesOf(a.memory, [i, 16]), piecesOf(block, [8, 16]), 'b'),
  );
  for (const request of requests) assert.equal(a.agent.postXferReq(request), S.IN_PROG);
  await Promise.all(requests.map((request) => a.agent.waitXferReq(request)));
  for (const block of blocks) {
    assert.deepEqual(block.bytes.subarray(8, 24), new Uint8Array(16).fill(7));
    assert.deepEqual(block.bytes.subarray(0, 8), new Uint8Array(8));
  }
});

test('notifications: appended to the caller’s map, waited for', async (t) => {
  const { a, b } = await openMockPair(t);
  const map = new Map([['old', [new Uint8Array(1)]]]);
  a.agent.genNotif('b', 'one');
  a.agent.genNotif('b', new Uint8Array(0));
  assert.equal(b.agent.getNotifs(map), map);
  assert.deepEqual(
    [...map].map(([sender, messages]) => [sender, messages.length]),
    [
      ['old', 1],
      ['a', 2],
    ],
  );
  const waiting = b.agent.waitNotifs(5000);
  a.agent.genNotif('b', 'late');
  assert.equal(Buffer.from((await waiting).get('a')?.[0] ?? []).toString(), 'late');
  assert.equal((await b.agent.waitNotifs(5)).size, 0);
  const bare = await Agent.create('bare');
  throwsCode(() => bare.getNotifs(), 'ERR_CAP_BACKEND');
  throwsCode(() => a.agent.genNotif('nobody', 'x'), 'ERR_USAGE_NOT_FOUND');
});

test('close: cancels, deregisters, forgets, ends, in that order, once', async (t) => {
  const { a, b, network } = await openMockPair(t);
  network.pollsPerTransfer = 1000;
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  a.agent.postXferReq(a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b'));
  network.isRecording = true;
  await a.agent.close();
  await a.agent.close();
  const expected = ['checkXfer', 'releaseReqH', 'deregisterMem', 'unloadMD', 'unloadMD'];
  assert.deepEqual(
    network.calls,
    [...expected, 'disconnect', 'close'].map((method) => `a.${method}`),
  );
});
