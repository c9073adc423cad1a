// A peer killed in mid-transfer, as the agent's users see it: exactly REMOTE_DISCONNECT, in time,
// by polling and by waiting. The peer is frozen first, so that the transfer cannot have finished.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { isTcpxError } from '../../src/base/errors.js';
import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import { decodeMetadata } from '../../src/nixl/metadata.js';
import { NixlStatus, nixlStatusName, nixlStatusOf } from '../../src/nixl/status.js';
import { emulatorVariables } from '../native/plugin-environment.js';
import { pluginParams, pluginVariables } from '../native/plugin-params.js';
import { startPeer } from './agent-peer.js';

const S = NixlStatus;
const BYTES = 256 << 20;
const LIMIT_MS = 5000;

interface Way {
  readonly name: string;
  readonly params: Readonly<Record<string, string>>;
  /** Of the peer, and of the plugin processes of both. */
  readonly variables: Readonly<Record<string, string>>;
}

const WAYS: readonly Way[] = [
  { name: 'lanes', params: { 'lane.progress': 'lanes' }, variables: {} },
  { name: 'caller', params: { 'lane.progress': 'caller' }, variables: {} },
  {
    name: 'tcpx',
    params: pluginParams(),
    variables: { ...emulatorVariables, ...pluginVariables() },
  },
];

async function open(t: TestContext, { params, variables }: Way) {
  const peer = startPeer(['target', String(BYTES)], variables);
  Object.assign(process.env, emulatorVariables);
  t.after(() => peer.kill());
  const evicted: string[] = [];
  const onPeerEvicted = (name: string) => evicted.push(name);
  const agent = await Agent.create('initiator', { onPeerEvicted });
  t.after(() => agent.close());
  await agent.createBackend('TCPX', params);
  const here = describeMemory(agent.allocateMem(BYTES).buffer);
  await agent.registerMem({ memType: MemType.DRAM, descs: [here] });
  const blob = Buffer.from(await peer.line(), 'base64');
  agent.loadRemoteMD(blob);
  await agent.makeConnection('target');
  const addr = decodeMetadata(blob).sections[0]?.descs[0]?.addr ?? 0;
  const local = { memType: MemType.DRAM, descs: [here] };
  const remote = { memType: MemType.DRAM, descs: [{ addr, len: BYTES, devId: 0 }] };
  const make = (op: XferOp) => agent.createXferReq(op, local, remote, 'target', { notif: 'never' });
  return { peer, agent, make, evicted };
}

async function pollFor(agent: Agent, request: ReturnType<Agent['createXferReq']>, ms: number) {
  let status = agent.getXferStatus(request);
  for (const stop = performance.now() + ms; status === S.IN_PROG; ) {
    if (performance.now() > stop) break;
    await new Promise((resolve) => setImmediate(resolve));
    status = agent.getXferStatus(request);
  }
  return status;
}

/** A peer whose connections have all ended is lost within this time. */
const IDLE_LOSS_MS = 1500;

const OPERATIONS = [
  ['WRITE', XferOp.WRITE],
  ['READ', XferOp.READ],
] as const;

for (const way of WAYS) {
  for (const [verb, op] of OPERATIONS) {
    test(`agent killed, ${way.name}, ${verb}: a poller sees REMOTE_DISCONNECT`, async (t) => {
      const { peer, agent, make, evicted } = await open(t, way);
      const request = make(op);
      assert.equal(agent.postXferReq(request), S.IN_PROG);
      peer.freeze();
      // Some of it has moved, and it stands still in the middle.
      assert.equal(await pollFor(agent, request, 200), S.IN_PROG);
      peer.kill();
      const status = await pollFor(agent, request, LIMIT_MS);
      assert.equal(nixlStatusName(status), 'NIXL_ERR_REMOTE_DISCONNECT');
      assert.equal(agent.getXferStatus(request), S.ERR_REMOTE_DISCONNECT, 'and stays so');
      assert.deepEqual(evicted, ['target']);
      assert.equal(agent.checkRemoteMD('target'), S.ERR_NOT_FOUND);
      assert.equal(agent.postXferReq(request), S.ERR_NOT_FOUND);
      assert.equal(agent.releaseXferReq(request), S.SUCCESS);
    });
  }

  test(`agent killed, ${way.name}: a post after the loss ends as one in flight`, async (t) => {
    const { peer, agent, make, evicted } = await open(t, way);
    const request = make(XferOp.WRITE);
    peer.kill();
    // Nothing is in flight: the end of the connections is all that tells.
    await new Promise((resolve) => setTimeout(resolve, IDLE_LOSS_MS));
    agent.postXferReq(request);
    const status = await pollFor(agent, request, LIMIT_MS);
    assert.equal(nixlStatusName(status), 'NIXL_ERR_REMOTE_DISCONNECT');
    assert.match(request.error?.message ?? '', /target/);
    assert.deepEqual(evicted, ['target']);
  });

  test(`agent killed, ${way.name}: a waiter gets the typed error in 5 s`, async (t) => {
    const { peer, agent, make, evicted } = await open(t, way);
    const request = make(XferOp.WRITE);
    assert.equal(agent.postXferReq(request), S.IN_PROG);
    peer.freeze();
    assert.equal(await pollFor(agent, request, 100), S.IN_PROG);
    const waiting = assert.rejects(agent.waitXferReq(request), (error) => {
      assert.ok(isTcpxError(error), String(error));
      const cause = error.code === 'ERR_XFER_FAILED' ? error.cause : error;
      assert.ok(isTcpxError(cause, 'ERR_PEER_LOST'), `${error.code}: ${error.message}`);
      assert.equal(nixlStatusOf(error), S.ERR_REMOTE_DISCONNECT);
      assert.match(error.message, /target/);
      return true;
    });
    const startMs = performance.now();
    peer.kill();
    await waiting;
    assert.ok(performance.now() - startMs < LIMIT_MS, 'in time');
    assert.equal(agent.getXferStatus(request), S.ERR_REMOTE_DISCONNECT);
    assert.deepEqual(evicted, ['target']);
  });
}
