// What needs a look inside the backend: calls counted, faults made. NIXL's semantics and traps as
// users see them, over MOCK and TCPX alike, are in test/contract/agent.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fill,
  openMockAgent,
  openMockPair,
  piecesOf,
  regionOf,
} from '../../test/support/mock-agents.js';
import { mockPlugin } from '../../test/support/mock-backend.js';
import { MockNetwork } from '../../test/support/mock-network.js';
import { isTcpxError, TcpxError } from '../base/errors.js';
import { Agent } from './agent.js';
import { openBackendOf } from './backend-set.js';
import { XferOp } from './memory-type.js';
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

test('trap: a backend that throws or invents a number ends in a status of the table', async (t) => {
  const { a, b } = await openMockPair(t);
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b');
  const { backend } = openBackendOf(a.agent.queryXferBackend(request));
  backend.postXfer = () => 42 as never;
  assert.equal(a.agent.postXferReq(request), S.ERR_UNKNOWN);
  backend.postXfer = () => {
    throw new TcpxError('ERR_PEER_BOUNDS', 'x');
  };
  assert.equal(a.agent.postXferReq(request), S.ERR_INVALID_PARAM);
});
