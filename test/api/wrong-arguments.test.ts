// A wrong argument is ERR_USAGE_ARGUMENT, at every call of every door: never a TypeError from
// inside, never taken in silence. And what is closed says so.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { inspect } from 'node:util';
import { isTcpxError } from '../../src/base/errors.js';
import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType } from '../../src/nixl/memory-type.js';
import { TcpxSession } from '../../src/p2p/tcpx-session.js';
import { closeEngines, type EnginePair, KeptLog, openPair } from '../support/engine-pair.js';
import { withCode } from '../support/expect-error.js';
import {
  type AgentWorld,
  agentCalls,
  agentCreateCases,
  dlistCalls,
  pluginCalls,
} from './agent-calls.js';
import {
  type EngineWorld,
  engineCalls,
  engineOpenCases,
  regionCalls,
  requestCalls,
  sessionCalls,
  transferCalls,
} from './engine-calls.js';
import { functionCases, groupCalls, type P2pWorld, p2pCalls, p2pOpenCases } from './p2p-calls.js';
import { type Case, faultsOf } from './wrong-values.js';

const CALLER = { 'lane.progress': 'caller' } as const;
const log = new KeptLog().log;
let pair: EnginePair;
let agents: AgentWorld;
let ends: P2pWorld;
let client: TcpxSession;

before(async () => {
  pair = await openPair(CALLER);
  agents = await openAgent();
  ends = await openEnds();
});
after(async () => {
  await Promise.all([agents.agent.close(), ends.p2p.close(), client.close(), closeEngines()]);
});

async function openAgent(): Promise<AgentWorld> {
  const agent = await Agent.create('a', { log, captureTelemetry: true });
  const handle = await agent.createBackend('TCPX', CALLER);
  const list = { memType: MemType.DRAM, descs: [describeMemory(new Uint8Array(64))] };
  await agent.registerMem(list);
  const request = agent.createXferReq('READ', list, list, 'a');
  const prepared = { here: agent.prepXferDlist('', list), there: agent.prepXferDlist('a', list) };
  return { agent, handle, list, request, prepared };
}

async function openEnds(): Promise<P2pWorld> {
  const p2p = await TcpxSession.open({ name: 'server', settings: CALLER, log });
  client = await TcpxSession.open({ name: 'client', settings: CALLER, log });
  client.loadRemoteConnInfo('server', p2p.listen());
  await Promise.all([p2p.accept('client', 5000), client.connect('server', { timeoutMs: 5000 })]);
  const memId = p2p.registerMemory(new Uint8Array(8));
  return { p2p, group: p2p.createTransfer('client'), memId };
}

function engineWorld(): EngineWorld {
  const engine = pair.client;
  const region = engine.register(new Uint8Array(64));
  const request = pair.session.prepare('write', { local: region, remote: region.descriptor });
  return { engine, region, request, session: pair.session, transfer: pair.session.notify('x') };
}

async function tryAll(owner: string, calls: Readonly<Record<string, readonly Case[]>>) {
  const faults: string[] = [];
  for (const [name, cases] of Object.entries(calls)) {
    for (const one of cases) faults.push(...(await faultsOf(`${owner}.${name}`, one)));
  }
  assert.ok(faults.length === 0, `${faults.length} faults\n${faults.join('\n')}`);
}

test('wrong arguments: Engine', async () => {
  await tryAll('Engine', { open: engineOpenCases() });
  await tryAll('engine', engineCalls(engineWorld()));
});

test('wrong arguments: Session, TransferRequest, Transfer, Region', async () => {
  const world = engineWorld();
  await tryAll('session', sessionCalls(world));
  await tryAll('request', requestCalls(world));
  await tryAll('transfer', transferCalls(world));
  await tryAll('region', regionCalls(world));
});

test('wrong arguments: Agent', async () => {
  await tryAll('Agent', { create: agentCreateCases() });
  await tryAll('agent', agentCalls(agents));
  await tryAll('plugins', pluginCalls());
  await tryAll('list', dlistCalls(agents));
});

test('wrong arguments: TcpxSession', async () => {
  await tryAll('TcpxSession', { open: p2pOpenCases() });
  await tryAll('p2p', p2pCalls(ends));
  await tryAll('group', groupCalls(ends));
});

test('wrong arguments: functions', async () => {
  await tryAll('', functionCases);
});

/** Whatever it does on what is closed: nothing, or a typed error. */
async function staysTyped(name: string, call: () => unknown): Promise<string[]> {
  try {
    await call();
    return [];
  } catch (error) {
    return isTcpxError(error) ? [] : [`${name}: ${inspect(error)}`];
  }
}

// eslint-disable-next-line max-lines-per-function -- a table
test('closed: every call of every door is refused by a typed error, or does nothing', async () => {
  const { engine, session, region, request, transfer } = engineWorld();
  const { agent, list, prepared, handle, request: xfer } = agents;
  const { p2p, group, memId } = ends;
  await Promise.all([agent.close(), p2p.close(), client.close()]);
  await pair.drive(session.close());
  await pair.close();
  const block = { local: region, remote: region.descriptor };
  const at = { ipAddr: '127.0.0.1', port: 1 };
  const calls: readonly (() => unknown)[] = [
    () => engine.register(new Uint8Array(8), { name: 'late' }),
    () => engine.deregister(region),
    () => engine.allocate(4096),
    () => engine.listen(0),
    () => engine.connect('127.0.0.1:1'),
    () => engine.notifications(),
    () => engine.connInfo(),
    () => [engine.laneStats(), engine.zeroCopyStats()],
    () => engine.poll(),
    () => engine.progress(),
    () => [engine.nowUs(), engine.ref(), engine.unref()],
    () => [engine.hasRoom, engine.port, engine.sessions, engine.instance, inspect(engine)],
    () => session.write(block),
    () => session.read(block),
    () => session.prepare('read', block),
    () => session.notify('late'),
    () => session.lookup('late'),
    () => session.reopen(),
    () => session.close(),
    () => [session.kernelCounters(), session.pluginThreads(), session.ref(), session.unref()],
    () => session.on('close', () => undefined),
    () => request.post(),
    () => request.release(),
    () => [transfer.poll(), transfer.wait(1), transfer.progress()],
    () => transfer.cancel(),
    () => transfer,
    () => agent.createBackend('TCPX'),
    () => agent.registerMem(list),
    () => agent.deregisterMem(list),
    () => agent.getLocalMD(),
    () => agent.getLocalPartialMD(list),
    () => agent.prepXferDlist('', list),
    () => agent.makeXferReq('READ', prepared.here, [0], prepared.there, [0]),
    () => agent.createXferReq('READ', list, list, 'a'),
    () => agent.postXferReq(xfer),
    () => agent.getXferStatus(xfer),
    () => agent.waitXferReq(xfer),
    () => agent.cancelXferReq(xfer),
    () => agent.releaseXferReq(xfer),
    () => agent.estimateXferCost(xfer),
    () => agent.genNotif('a', 'late'),
    () => agent.getNotifs(),
    () => agent.updateNotifs(),
    () => agent.waitNotifs(1),
    () => agent.fetchRemoteMD('b', at),
    () => agent.sendLocalMD(at),
    () => agent.makeConnection('b'),
    () => agent.getBackendParams(handle),
    () => agent.allocateMem(4096),
    () => agent.close(),
    () => p2p.listen(),
    () => p2p.accept('client', 1),
    () => p2p.connect('server'),
    () => p2p.registerMemory(new Uint8Array(8)),
    () => p2p.deregisterMemory(memId),
    () => p2p.createTransfer('client'),
    () => p2p.disconnect('client'),
    () => group.postSend(memId, 0, 8, 1),
    () => group.postRecv(memId, 0, 8, 1),
    () => group.wait(1),
    () => group.isComplete(),
    () => group.release(),
  ];
  const faults: string[] = [];
  for (const call of calls) faults.push(...(await staysTyped(String(call), call)));
  assert.ok(faults.length === 0, faults.join('\n'));
  // What would start something anew is refused by name: it would hold the process.
  const isClosed = withCode('ERR_USAGE_STATE', /closed/);
  await assert.rejects(agent.createBackend('TCPX'), isClosed);
  await assert.rejects(agent.registerMem(list), isClosed);
  await assert.rejects(agent.fetchRemoteMD('b', at), isClosed);
  await assert.rejects(p2p.accept('client'), isClosed);
  assert.throws(() => engine.listen(0), isClosed);
});
