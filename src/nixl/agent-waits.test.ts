// Where the agent waits, a signal ends the wait with an AbortError; and what it prints holds no
// secret.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { openMockPair, piecesOf, regionOf } from '../../test/support/mock-agents.js';
import { until } from '../../test/support/until.js';
import { AbortError } from '../base/abort.js';
import { Engine } from '../engine/engine.js';
import { Agent } from './agent.js';
import type { BackendInit } from './backend.js';
import { openBackendOf } from './backend-set.js';
import { describeMemory } from './host-memory.js';
import { MemType } from './memory-type.js';
import { PluginManager } from './plugin-manager.js';
import { NixlStatus } from './status.js';
import { tcpxPlugin } from './tcpx-backend.js';

const REASON = new Error('enough');

async function aborts(wait: (signal: AbortSignal) => Promise<unknown>, isEarlyToo = true) {
  const isAbort = (error: unknown) => {
    assert.ok(error instanceof AbortError, inspect(error));
    assert.equal(error.name, 'AbortError');
    assert.equal(error.cause, REASON);
    return true;
  };
  const controller = new AbortController();
  const waiting = wait(controller.signal);
  setTimeout(() => controller.abort(REASON), 20);
  await assert.rejects(waiting, isAbort);
  if (isEarlyToo) await assert.rejects(wait(AbortSignal.abort(REASON)), isAbort);
}

/** Takes connections and never says a word. */
async function mute(t: TestContext): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    t.after(() => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}

test('abort: waiting for notifications', async (t) => {
  const { b } = await openMockPair(t);
  await aborts((signal) => b.agent.waitNotifs({ timeoutMs: 60_000, signal }));
});

test('abort: what has arrived is given, not lost', async (t) => {
  const { a, b } = await openMockPair(t);
  a.agent.genNotif('b', 'there');
  const notifs = await b.agent.waitNotifs({ signal: AbortSignal.abort(REASON) });
  assert.equal(notifs.get('a')?.length, 1);
});

test('abort: waiting for a transfer', async (t) => {
  const { a, b, network } = await openMockPair(t);
  network.pollsPerTransfer = 1e9;
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  await aborts((signal) => {
    const request = a.agent.createXferReq('WRITE', ...pieces, 'b');
    assert.equal(a.agent.postXferReq(request), NixlStatus.IN_PROG);
    return a.agent.waitXferReq(request, { signal });
  });
});

test('abort: waiting for a cancelled transfer to let go', async (t) => {
  const { a, b, network } = await openMockPair(t);
  network.pollsPerTransfer = 1e9;
  network.refusedReleases = 1e9;
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const request = a.agent.createXferReq('WRITE', ...pieces, 'b');
  a.agent.postXferReq(request);
  await aborts((signal) => a.agent.cancelXferReq(request, { signal }));
  network.refusedReleases = 0;
  await a.agent.cancelXferReq(request);
});

test('abort: starting an engine, an agent, a backend; registering memory', async (t) => {
  const early = { signal: AbortSignal.abort(REASON) };
  await assert.rejects(Engine.open(early), AbortError);
  await assert.rejects(Agent.create('early', early), AbortError);
  const port = await mute(t);
  const settings = {
    'nixl.tcpStoreEndpoint': `127.0.0.1:${port}`,
    'nixl.tcpStoreTimeoutMs': 1000,
    'nixl.tcpStoreOpTimeoutMs': 1000,
  };
  await aborts((signal) => Agent.create('late', { settings, signal }));
  let created = 0;
  let closed = 0;
  const plugins = new PluginManager();
  const create = async (init: BackendInit) => {
    created++;
    const backend = await tcpxPlugin.create({ ...init, params: { 'lane.progress': 'caller' } });
    const close = backend.close.bind(backend);
    backend.close = async () => {
      closed++;
      await close();
    };
    await new Promise((resolve) => setTimeout(resolve, 60));
    return backend;
  };
  plugins.register({ ...tcpxPlugin, name: 'SLOW', create });
  const agent = await Agent.create('a', { plugins });
  t.after(() => agent.close());
  await aborts((signal) => agent.createBackend('SLOW', {}, { signal }), false);
  await assert.rejects(agent.createBackend('TCPX', {}, early), AbortError);
  await until('what came too late is closed', 5000, () => created === 1 && closed === 1);
  const { a } = await openMockPair(t);
  const list = { memType: MemType.DRAM, descs: [describeMemory(new Uint8Array(8))] };
  await assert.rejects(a.agent.registerMem(list, early), AbortError);
  const controller = new AbortController();
  const registering = a.agent.registerMem(list, { signal: controller.signal });
  controller.abort(REASON);
  await assert.rejects(registering, AbortError);
  const isGone = () => assert.throws(() => a.agent.prepXferDlist('', list));
  await new Promise((resolve) => setTimeout(resolve, 10));
  isGone();
});

test('abort: connecting, and giving memory back', async (t) => {
  const pair = await openMockPair(t);
  const { a, b } = pair;
  const pieces = [piecesOf(a.memory, [0, 8]), piecesOf(b.memory, [0, 8])] as const;
  const { backend } = openBackendOf(
    a.agent.queryXferBackend(a.agent.createXferReq('READ', ...pieces, 'b')),
  );
  let letGo: () => void = () => undefined;
  const never = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  backend.connect = () => never;
  await aborts((signal) => a.agent.makeConnection('b', { signal }));
  const slow = { timeoutMs: 30 };
  await assert.rejects(a.agent.makeConnection('b', slow), /makeConnection.*30 ms/);
  backend.deregisterMem = () => never;
  await aborts((signal) => a.agent.deregisterMem(regionOf(a.memory), { signal }), false);
  letGo();
});

test('abort: metadata that does not come, and is not loaded later', async (t) => {
  const port = await mute(t);
  const { a } = await openMockPair(t);
  const at = { ipAddr: '127.0.0.1', port };
  await aborts((signal) => a.agent.fetchRemoteMD('c', { ...at, signal }));
  const early = { ...at, signal: AbortSignal.abort(REASON) };
  await assert.rejects(a.agent.sendLocalMD(early), AbortError);
  await assert.rejects(a.agent.sendLocalPartialMD(regionOf(a.memory), early), AbortError);
  await assert.rejects(a.agent.invalidateLocalMD(early), AbortError);
});

test('secrets: nothing that an agent gives out prints them', async (t) => {
  const secret = 'nobody may read this in a log';
  const agent = await Agent.create('a');
  t.after(() => agent.close());
  const params = { 'trust.secret': secret, secret_key: secret, num_threads: '2' };
  const handle = await agent.createBackend('TCPX', params);
  const memory = new Uint8Array(64);
  const list = { memType: MemType.DRAM, descs: [describeMemory(memory)] };
  await agent.registerMem(list);
  const request = agent.createXferReq('WRITE', list, list, 'a');
  const described = agent.getBackendParams(handle);
  const prepared = agent.prepXferDlist('', list);
  assert.match(
    inspect(request),
    /^XferRequest \{ WRITE of 64 B, NIXL_ERR_NOT_POSTED, peer: a, TCPX \}$/,
  );
  assert.equal(inspect(prepared), 'PreparedDlist { 1 range of this agent }');
  for (const [name, value] of Object.entries({ agent, handle, request, described, prepared })) {
    const deep = { depth: 20, showHidden: true, getters: true };
    for (const text of [inspect(value, deep), JSON.stringify(value)]) {
      assert.ok(!text.includes(secret), `${name}: ${text}`);
    }
  }
  assert.match(inspect(agent), /Agent \{ a, backends: TCPX, 0 peers \}/);
  assert.equal(described.params['trust.secret'], secret, 'who asks by name is told');
  assert.equal(described.params['num_threads'], '2');
});
