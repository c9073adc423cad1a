// NIXL's semantics, one test each, by name: what a backend and its agent must honour, and the traps
// that users of NIXL know.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTcpxError, TcpxError } from '../base/errors.js';
import { fill, openMockAgent, openMockPair, piecesOf, regionOf } from '../testing/mock-agents.js';
import { mockPlugin } from '../testing/mock-backend.js';
import { MockNetwork } from '../testing/mock-network.js';
import { Agent } from './agent.js';
import { MemType, XferOp } from './memory-type.js';
import { PluginManager } from './plugin-manager.js';
import { NixlStatus, nixlStatusOf } from './status.js';

const S = NixlStatus;
const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();

function statusThrown(body: () => unknown): number {
  try {
    body();
  } catch (error) {
    assert.ok(isTcpxError(error), String(error));
    return nixlStatusOf(error);
  }
  return S.SUCCESS;
}

// ── ordering and semantics ──

test('semantics: notification after data', async (t) => {
  const { a, b, network } = await openMockPair(t);
  network.pollsPerTransfer = 3;
  fill(a.memory, 5);
  const whole = piecesOf(a.memory, [0, 4096]);
  const request = a.agent.createXferReq(XferOp.WRITE, whole, piecesOf(b.memory, [0, 4096]), 'b');
  a.agent.postXferReq(request, { notif: 'landed' });
  for (;;) {
    const messages = b.agent.getNotifs().get('a');
    if (messages !== undefined) break;
    assert.ok(!Buffer.from(b.memory.bytes).equals(a.memory.bytes), 'no data without notice');
    a.agent.getXferStatus(request);
  }
  assert.deepEqual(b.memory.bytes, a.memory.bytes);
});

test('semantics: READ notifies the owner of the data', async (t) => {
  const { a, b } = await openMockPair(t);
  fill(b.memory, 9);
  const request = a.agent.createXferReq(
    XferOp.READ,
    piecesOf(a.memory, [0, 64]),
    piecesOf(b.memory, [128, 64]),
    'b',
    { notif: 'read' },
  );
  assert.equal(a.agent.postXferReq(request), S.SUCCESS);
  assert.deepEqual(a.memory.bytes.subarray(0, 64), b.memory.bytes.subarray(128, 192));
  assert.equal(text(b.agent.getNotifs().get('a')?.[0]), 'read');
});

test('semantics: one notification per successful post, none for a failed one', async (t) => {
  const { a, b } = await openMockPair(t);
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b', { notif: 'n' });
  for (let round = 0; round < 3; round++) assert.equal(a.agent.postXferReq(request), S.SUCCESS);
  assert.equal(b.agent.getNotifs().get('a')?.length, 3);
  await b.agent.deregisterMem(regionOf(b.memory));
  assert.equal(a.agent.postXferReq(request), S.ERR_BACKEND);
  assert.equal(b.agent.getNotifs().size, 0);
});

test('semantics: transfers are not ordered among each other', async (t) => {
  const { a, b, network } = await openMockPair(t);
  const make = (offset: number) =>
    a.agent.createXferReq(
      XferOp.WRITE,
      piecesOf(a.memory, [offset, 8]),
      piecesOf(b.memory, [offset, 8]),
      'b',
      { notif: String(offset) },
    );
  const [slow, quick] = [make(0), make(8)];
  network.pollsPerTransfer = 2;
  assert.equal(a.agent.postXferReq(slow), S.IN_PROG);
  network.pollsPerTransfer = 0;
  assert.equal(a.agent.postXferReq(quick), S.SUCCESS);
  await a.agent.waitXferReq(quick);
  assert.equal(a.agent.getXferStatus(slow), S.IN_PROG);
  assert.equal(a.agent.getXferStatus(slow), S.SUCCESS);
  assert.deepEqual(b.agent.getNotifs().get('a')?.map(text), ['8', '0']);
});

test('semantics: the sender in a notification is the agent’s name', async (t) => {
  const { a, b } = await openMockPair(t);
  b.agent.genNotif('a', 'hello');
  assert.deepEqual([...a.agent.getNotifs().keys()], ['b']);
});

test('semantics: lists are prepared once and identical at every repost', async (t) => {
  const { a, b, network } = await openMockPair(t);
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b');
  for (let round = 0; round < 5; round++) {
    fill(a.memory, round);
    assert.equal(a.agent.postXferReq(request), S.SUCCESS);
    assert.deepEqual(b.memory.bytes.subarray(0, 8), a.memory.bytes.subarray(0, 8));
  }
  assert.equal(network.callCount('a', 'prepXfer'), 1);
  assert.equal(network.callCount('a', 'postXfer'), 5);
});

test('semantics: counts and lengths match pairwise before a backend is asked', async (t) => {
  const { a, b, network } = await openMockPair(t);
  const create = (here: [number, number][], there: [number, number][]) =>
    statusThrown(() =>
      a.agent.createXferReq(
        XferOp.WRITE,
        piecesOf(a.memory, ...here),
        piecesOf(b.memory, ...there),
        'b',
      ),
    );
  assert.equal(create([], []), S.ERR_INVALID_PARAM);
  assert.equal(create([[0, 8]], []), S.ERR_INVALID_PARAM);
  assert.equal(create([[0, 8]], [[0, 9]]), S.ERR_INVALID_PARAM);
  assert.equal(network.callCount('a', 'prepXfer'), 0);
});

test('semantics: one request may span several registrations and devices of one peer', async (t) => {
  const { a, b, network } = await openMockPair(t);
  const other = network.allocate(64);
  const desc = { addr: other.addr, len: 64, devId: 3 };
  await b.agent.registerMem({ memType: MemType.DRAM, descs: [desc] });
  a.agent.loadRemoteMD(b.agent.getLocalMD());
  const remote = {
    memType: MemType.DRAM,
    descs: [[b.memory.addr + 5, 16, 0] as const, [other.addr + 7, 16, 3] as const],
  };
  fill(a.memory, 3);
  const local = piecesOf(a.memory, [0, 16], [100, 16]);
  const request = a.agent.createXferReq(XferOp.WRITE, local, remote, 'b');
  assert.equal(a.agent.postXferReq(request), S.SUCCESS);
  assert.deepEqual(b.memory.bytes.subarray(5, 21), a.memory.bytes.subarray(0, 16));
  assert.deepEqual(other.bytes.subarray(7, 23), a.memory.bytes.subarray(100, 116));
});

test('semantics: REMOTE_DISCONNECT evicts the peer for every user of the agent', async (t) => {
  const evicted: string[] = [];
  const { a, b, network } = await openMockPair(t, {
    onPeerEvicted: (name) => evicted.push(name),
  });
  const make = () =>
    a.agent.createXferReq(
      XferOp.WRITE,
      piecesOf(a.memory, [0, 8]),
      piecesOf(b.memory, [0, 8]),
      'b',
    );
  const [first, second] = [make(), make()];
  network.kill('b');
  assert.equal(a.agent.postXferReq(first), S.ERR_REMOTE_DISCONNECT);
  assert.deepEqual(evicted, ['b']);
  assert.equal(a.agent.checkRemoteMD('b'), S.ERR_NOT_FOUND);
  assert.equal(a.agent.postXferReq(second), S.ERR_NOT_FOUND);
  assert.equal(network.callCount('a', 'unloadMD'), 1);
  assert.equal(network.callCount('a', 'disconnect'), 1);

  // A successor of the same name works; the old handles never do again.
  const next = await openMockAgent(t, network, 'b');
  a.agent.loadRemoteMD(next.agent.getLocalMD());
  assert.equal(a.agent.postXferReq(second), S.ERR_NOT_FOUND);
  const third = a.agent.createXferReq(
    XferOp.WRITE,
    piecesOf(a.memory, [0, 8]),
    piecesOf(next.memory, [0, 8]),
    'b',
  );
  assert.equal(a.agent.postXferReq(third), S.SUCCESS);
});

test('semantics: genNotif to a lost peer does not evict it', async (t) => {
  const { a, network } = await openMockPair(t);
  network.kill('b');
  assert.equal(
    statusThrown(() => a.agent.genNotif('b', 'x')),
    S.ERR_REMOTE_DISCONNECT,
  );
  assert.equal(a.agent.checkRemoteMD('b'), S.SUCCESS);
});

// ── traps ──

test('trap: createXferReq does not merge neighbours, makeXferReq does', async (t) => {
  const { a, b } = await openMockPair(t);
  const pieces = [
    [0, 8],
    [8, 8],
    [16, 8],
    [32, 8],
  ] as const;
  const here = piecesOf(a.memory, ...pieces);
  const there = piecesOf(b.memory, ...pieces);
  const created = a.agent.createXferReq(XferOp.WRITE, here, there, 'b');
  assert.equal(created.descCount, 4);
  const local = a.agent.prepXferDlist('', here);
  const remote = a.agent.prepXferDlist('b', there);
  const all = [0, 1, 2, 3];
  const make = (options = {}, there = all) =>
    a.agent.makeXferReq(XferOp.WRITE, local, all, remote, there, options);
  assert.equal(make().descCount, 2);
  assert.equal(make({ skipDescMerge: true }).descCount, 4);
  assert.equal(make({}, [0, 2, 1, 3]).descCount, 4, 'only where both sides continue');
  fill(a.memory, 77);
  assert.equal(a.agent.postXferReq(make()), S.SUCCESS);
  assert.deepEqual(b.memory.bytes.subarray(0, 24), a.memory.bytes.subarray(0, 24));
  assert.deepEqual(b.memory.bytes.subarray(24, 32), new Uint8Array(8));
});

test('trap: options without a notification switch off the one given at creation', async (t) => {
  const { a, b } = await openMockPair(t);
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b', { notif: 'first' });
  const posted = (options?: { notif?: string }) => {
    a.agent.postXferReq(request, options);
    return b.agent.getNotifs().get('a')?.map(text) ?? [];
  };
  assert.deepEqual(posted(), ['first']);
  assert.deepEqual(posted(), ['first'], 'absent options repeat the last message');
  assert.deepEqual(posted({ notif: 'second' }), ['second']);
  assert.deepEqual(posted(), ['second'], 'and a changed one is kept');
  assert.deepEqual(posted({}), []);
  assert.deepEqual(posted(), [], 'for later posts too');
  assert.deepEqual(posted({ notif: '' }), [''], 'an empty message is a message');
});

test('trap: status of an evicted peer is NOT_FOUND, but not stored', async (t) => {
  const { a, b, network } = await openMockPair(t);
  network.pollsPerTransfer = 5;
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b');
  assert.equal(a.agent.postXferReq(request), S.IN_PROG);
  a.agent.invalidateRemoteMD('b');
  assert.equal(a.agent.getXferStatus(request), S.ERR_NOT_FOUND);
  assert.equal(request.status, S.IN_PROG);
  assert.equal(a.agent.releaseXferReq(request), S.SUCCESS);
  assert.equal(network.callCount('a', 'releaseReqH'), 1);
});

test('trap: eviction unloads regions that a request still holds', async (t) => {
  const { a, b, network } = await openMockPair(t);
  network.pollsPerTransfer = 2;
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b');
  a.agent.postXferReq(request);
  a.agent.invalidateRemoteMD('b');
  await assert.rejects(a.agent.waitXferReq(request), (e) => isTcpxError(e, 'ERR_USAGE_NOT_FOUND'));
  await a.agent.cancelXferReq(request);
});

test('trap: a list prepared for an older generation is refused by makeXferReq', async (t) => {
  const { a, b } = await openMockPair(t);
  const local = a.agent.prepXferDlist('', piecesOf(a.memory, [0, 8]));
  const remote = a.agent.prepXferDlist('b', piecesOf(b.memory, [0, 8]));
  a.agent.invalidateRemoteMD('b');
  a.agent.loadRemoteMD(b.agent.getLocalMD());
  const make = () => a.agent.makeXferReq(XferOp.WRITE, local, [0], remote, [0]);
  assert.equal(statusThrown(make), S.ERR_NOT_FOUND);
});

test('trap: polling notifications does not hold up posts', async (t) => {
  const { a, b } = await openMockPair(t);
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b', { notif: 'x' });
  for (let round = 0; round < 100; round++) {
    b.agent.getNotifs();
    a.agent.getNotifs();
    assert.equal(a.agent.postXferReq(request), S.SUCCESS);
  }
});

test('trap: of several backends the first created is taken, or the one named', async (t) => {
  const network = new MockNetwork();
  const otherNetwork = new MockNetwork();
  otherNetwork.find = network.find.bind(network);
  const open = async (name: string) => {
    const plugins = new PluginManager();
    plugins.register(mockPlugin(otherNetwork), 'ZETA');
    plugins.register(mockPlugin(network), 'ALPHA');
    const agent = await Agent.create(name, { plugins });
    t.after(() => agent.close());
    const backends = [
      await agent.createBackend('ZETA'),
      await agent.createBackend('ALPHA'),
    ] as const;
    const memory = network.allocate(64);
    await agent.registerMem(regionOf(memory));
    return { agent, memory, backends };
  };
  const [a, b] = [await open('a'), await open('b')];
  a.agent.loadRemoteMD(b.agent.getLocalMD());
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const free = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b');
  assert.equal(a.agent.queryXferBackend(free).type, 'ZETA');
  const named = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b', { backends: [a.backends[1]] });
  assert.equal(a.agent.queryXferBackend(named).type, 'ALPHA');
  assert.equal(
    statusThrown(() =>
      a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b', { backends: [b.backends[0]] }),
    ),
    S.ERR_INVALID_PARAM,
    'a backend of another agent',
  );
});

test('trap: a name cannot be spoken for from elsewhere once it is known', async (t) => {
  const { a, b, network } = await openMockPair(t);
  const impostorNetwork = new MockNetwork();
  const impostor = await openMockAgent(t, impostorNetwork, 'b');
  assert.equal(
    statusThrown(() => a.agent.loadRemoteMD(impostor.agent.getLocalMD())),
    S.ERR_NOT_ALLOWED,
    'other connection info for a known name',
  );
  assert.equal(a.agent.checkRemoteMD('b', piecesOf(b.memory, [0, 8])), S.SUCCESS);
  assert.equal(network.callCount('a', 'disconnect'), 0);
});

test('trap: an agent cannot load its own metadata; loopback goes by its own name', async (t) => {
  const { a } = await openMockPair(t);
  assert.equal(
    statusThrown(() => a.agent.loadRemoteMD(a.agent.getLocalMD())),
    S.ERR_INVALID_PARAM,
  );
  assert.equal(
    statusThrown(() => a.agent.invalidateRemoteMD('a')),
    S.ERR_INVALID_PARAM,
  );
  fill(a.memory, 1);
  const pieces = [piecesOf(a.memory, [0, 16]), piecesOf(a.memory, [1024, 16])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'a', { notif: 'to me' });
  assert.equal(a.agent.postXferReq(request), S.SUCCESS);
  assert.deepEqual(a.memory.bytes.subarray(1024, 1040), a.memory.bytes.subarray(0, 16));
  assert.equal(text(a.agent.getNotifs().get('a')?.[0]), 'to me');
});

test('trap: connection info is read once, at creation, and must not be empty', async (t) => {
  const { a, network } = await openMockPair(t);
  a.agent.getLocalMD();
  a.agent.getLocalMD();
  assert.equal(network.callCount('a', 'getConnInfo'), 1);
  const plugins = new PluginManager();
  const plugin = mockPlugin(new MockNetwork());
  plugins.register({
    ...plugin,
    create: async (init) => {
      const backend = await plugin.create(init);
      backend.getConnInfo = () => new Uint8Array(0);
      return backend;
    },
  });
  const agent = await Agent.create('empty', { plugins });
  await assert.rejects(agent.createBackend('MOCK'), (e) => isTcpxError(e, 'ERR_CAP_BACKEND'));
});

test('trap: an ordinary run logs no warning', async (t) => {
  const lines: string[] = [];
  const note = (event: string) => lines.push(event);
  const log = { error: note, warn: note, info: () => 0, debug: () => 0, trace: () => 0 };
  const { a, b } = await openMockPair(t, { log });
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b', { notif: 'x' });
  assert.equal(a.agent.postXferReq(request), S.SUCCESS);
  a.agent.releaseXferReq(request);
  await a.agent.close();
  await b.agent.close();
  assert.deepEqual(lines, []);
});

test('trap: a backend that throws or invents a number ends in a status of the table', async (t) => {
  const { a, b } = await openMockPair(t);
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b');
  const { backend } = a.agent.queryXferBackend(request);
  backend.postXfer = () => 42 as never;
  assert.equal(a.agent.postXferReq(request), S.ERR_UNKNOWN);
  backend.postXfer = () => {
    throw new TcpxError('ERR_PEER_BOUNDS', 'x');
  };
  assert.equal(a.agent.postXferReq(request), S.ERR_INVALID_PARAM);
});
