// Verbs beside the data path: memory asked about, views for devices, notifications kept until they
// are asked for, and the texts of NIXL's Python API beside the numbers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openMockPair, piecesOf, regionOf } from '../../test/support/mock-agents.js';
import { type ErrorCode, isTcpxError } from '../base/errors.js';
import type { Backend, MemViewList } from './backend.js';
import { openBackendOf } from './backend-set.js';
import { MemType, XferOp } from './memory-type.js';
import { NixlStatus } from './status.js';

const isCode = (code: ErrorCode) => (error: unknown) => isTcpxError(error, code);

function backendOf(pair: Awaited<ReturnType<typeof openMockPair>>) {
  const { a, b } = pair;
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq(XferOp.WRITE, ...pieces, 'b');
  return a.agent.queryXferBackend(request);
}

test('queryMem: of exactly one backend, which may not offer it', async (t) => {
  const pair = await openMockPair(t);
  const { agent, memory } = pair.a;
  const handle = backendOf(pair);
  const list = regionOf(memory);
  await assert.rejects(agent.queryMem(list, {}), isCode('ERR_USAGE_ARGUMENT'));
  const two = { backends: [handle, handle] };
  await assert.rejects(agent.queryMem(list, two), isCode('ERR_USAGE_ARGUMENT'));
  const one = { backends: [handle] };
  await assert.rejects(agent.queryMem(list, one), isCode('ERR_USAGE_NOT_SUPPORTED'));
  const { backend }: { backend: Backend } = openBackendOf(handle);
  backend.queryMem = ({ descs }) => descs.map((desc) => ({ bytes: String(desc.len) }));
  assert.deepEqual(await agent.queryMem(list, one), [{ bytes: '4096' }]);
});

test('prepMemView: refused where the backend has none, after its memory was found', async (t) => {
  const { a, b } = await openMockPair(t);
  const local = piecesOf(a.memory, [0, 8]);
  const view = (list: Parameters<typeof a.agent.prepMemView>[0]) => () => a.agent.prepMemView(list);
  assert.throws(view(local), isCode('ERR_USAGE_NOT_SUPPORTED'));
  assert.throws(view(piecesOf(a.memory, [4090, 8])), isCode('ERR_USAGE_NOT_FOUND'));
  const remote = (remoteAgent: string, offset = 0) => ({
    memType: MemType.DRAM,
    descs: [{ addr: b.memory.addr + offset, len: 8, devId: 0, remoteAgent }],
  });
  assert.throws(view(remote('b')), isCode('ERR_USAGE_NOT_SUPPORTED'));
  assert.throws(view(remote('b', 4090)), isCode('ERR_USAGE_NOT_FOUND'));
  assert.throws(view(remote('nobody')), isCode('ERR_USAGE_NOT_FOUND'));
  assert.throws(view(remote('NULL_AGENT')), isCode('ERR_USAGE_NOT_FOUND'), 'holes alone');
  assert.throws(view({ memType: MemType.DRAM, descs: [] }), isCode('ERR_USAGE_NOT_FOUND'));
});

test('prepMemView: a backend that has them gets ranges and holes', async (t) => {
  const warnings: string[] = [];
  const note = (event: string) => warnings.push(event);
  const log = { error: note, warn: note, info: () => 0, debug: () => 0, trace: () => 0 };
  const pair = await openMockPair(t, { log });
  const { a, b } = pair;
  const { backend }: { backend: Backend } = openBackendOf(backendOf(pair));
  const seen: MemViewList[] = [];
  const released: object[] = [];
  backend.prepMemView = (list) => {
    seen.push(list);
    return { number: seen.length };
  };
  backend.releaseMemView = (view) => released.push(view);
  const hole = { addr: 0, len: 0, devId: 0, remoteAgent: 'NULL_AGENT' };
  const there = { addr: b.memory.addr, len: 8, devId: 0, remoteAgent: 'b' };
  const view = a.agent.prepMemView({ memType: MemType.DRAM, descs: [hole, there] });
  const [given] = seen;
  assert.ok(given !== undefined);
  assert.deepEqual(given.agents, ['NULL_AGENT', 'b']);
  assert.deepEqual(
    given.mds.map((md) => md === undefined),
    [true, false],
  );
  a.agent.prepMemView(piecesOf(a.memory, [0, 8]));
  assert.equal(seen[1]?.agents, undefined);
  a.agent.releaseMemView(view);
  a.agent.releaseMemView(view);
  assert.deepEqual(released, [{ number: 1 }]);
  assert.deepEqual(warnings, ['memory view is unknown'], 'as NIXL: a warning, no more');
});

test('checkRemoteXferDone: takes the message that fits, and keeps the others', async (t) => {
  const { a, b } = await openMockPair(t);
  for (const text of ['layer 1: done', 'layer 2: done', 'layer 1: done'])
    a.agent.genNotif('b', text);
  const isDone = (tag: string, options = {}) => b.agent.checkRemoteXferDone('a', tag, options);
  assert.equal(isDone('layer 3'), false);
  assert.equal(isDone('2: done'), false, 'a prefix unless told otherwise');
  assert.equal(isDone('2: done', { tagIsPrefix: false }), true);
  assert.equal(isDone('2: done', { tagIsPrefix: false }), false, 'it was taken');
  assert.equal(b.agent.checkRemoteXferDone('nobody', ''), false);
  assert.equal(b.agent.getNotifs().size, 0, 'what was kept is not new');
  a.agent.genNotif('b', 'late');
  const unread = b.agent.updateNotifs().get('a') ?? [];
  const texts = unread.map((message) => Buffer.from(message).toString());
  assert.deepEqual(texts, ['layer 1: done', 'layer 1: done', 'late']);
  assert.equal(isDone('layer 1'), true);
  assert.equal(isDone('layer 1'), true);
  assert.equal(isDone('layer 1'), false);
  assert.equal(b.agent.checkRemoteXferDone('a', Buffer.from('late')), true);
  assert.deepEqual([...b.agent.updateNotifs()], [], 'nothing is left of a sender without messages');
});

test('checkRemoteXferDone: who floods loses own messages alone', async (t) => {
  const { a, b } = await openMockPair(t, {
    settings: { 'nixl.inboxBytesMax': 1 << 20, 'nixl.inboxPeerBytesMax': 1 << 20 },
  });
  a.agent.genNotif('a', 'of my own');
  b.agent.genNotif('a', 'the first');
  for (let round = 0; round < 40; round++) b.agent.genNotif('a', new Uint8Array(64 << 10));
  b.agent.genNotif('a', 'the last');
  const unread = a.agent.updateNotifs();
  const bytes = [...unread.values()].flat().reduce((sum, message) => sum + message.length, 0);
  assert.ok(bytes <= 1 << 20, `${bytes} bytes are kept`);
  assert.equal(a.agent.checkRemoteXferDone('a', 'of my own'), true);
  assert.equal(a.agent.checkRemoteXferDone('b', 'the first'), false, 'the oldest went');
  assert.equal(a.agent.checkRemoteXferDone('b', 'the last'), true);
});

test('states: DONE, PROC and ERR beside the numbers; operations by their names', async (t) => {
  const { a, b, network } = await openMockPair(t);
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq('WRITE', ...pieces, 'b', { notif: 'first' });
  assert.equal(a.agent.checkXferState(request), 'ERR', 'never posted');
  network.pollsPerTransfer = 2;
  assert.equal(a.agent.transfer(request), 'PROC');
  assert.equal(a.agent.checkXferState(request), 'PROC');
  assert.equal(a.agent.checkXferState(request), 'DONE');
  network.pollsPerTransfer = 0;
  assert.equal(a.agent.transfer(request, 'second'), 'DONE');
  assert.equal(b.agent.checkRemoteXferDone('a', 'first'), true, 'without one, as before');
  assert.equal(b.agent.checkRemoteXferDone('a', 'second'), true);
  network.kill('b');
  assert.equal(a.agent.transfer(request), 'ERR');
  assert.equal(request.status, NixlStatus.ERR_REMOTE_DISCONNECT);
  const wrong = () => a.agent.createXferReq('write' as never, ...pieces, 'b');
  assert.throws(wrong, isCode('ERR_USAGE_ARGUMENT'));
});

test('telemetry: every event of NIXL has its counter', async (t) => {
  const { a } = await openMockPair(t, { captureTelemetry: true });
  const counters = a.agent.getTelemetry();
  assert.equal(counters['agent_telemetry_events_dropped'], 0, 'counted in place, so none is lost');
});
