// A wrong argument is ERR_USAGE_ARGUMENT, at every call of every door: never a TypeError from
// inside, never taken in silence. And what is closed says so.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { inspect } from 'node:util';
import { isTcpxError } from '../../src/base/errors.js';
import { closeEngines, type EnginePair, openPair } from '../support/engine-pair.js';
import { withCode } from '../support/expect-error.js';
import {
  type AgentWorld,
  agentCalls,
  agentCreateCases,
  dlistCalls,
  pluginCalls,
} from './agent-calls.js';
import {
  engineCalls,
  engineOpenCases,
  regionCalls,
  requestCalls,
  sessionCalls,
  transferCalls,
} from './engine-calls.js';
import { functionCases, groupCalls, p2pCalls, p2pOpenCases } from './p2p-calls.js';
import { CALLER, type EndsWorld, engineWorld, openAgent, openEnds } from './worlds.js';
import { type Case, faultsOf } from './wrong-values.js';

let pair: EnginePair;
let agents: AgentWorld;
let ends: EndsWorld;

before(async () => {
  pair = await openPair(CALLER);
  agents = await openAgent();
  ends = await openEnds();
});
after(async () => {
  await Promise.all([agents.agent.close(), ends.p2p.close(), ends.client.close(), closeEngines()]);
});

async function tryAll(owner: string, calls: Readonly<Record<string, readonly Case[]>>) {
  const faults: string[] = [];
  for (const [name, cases] of Object.entries(calls)) {
    for (const one of cases) faults.push(...(await faultsOf(`${owner}.${name}`, one)));
  }
  assert.ok(faults.length === 0, `${faults.length} faults\n${faults.join('\n')}`);
}

test('wrong arguments: Engine', async () => {
  await tryAll('Engine', { open: engineOpenCases() });
  await tryAll('engine', engineCalls(engineWorld(pair)));
});

test('wrong arguments: Session, TransferRequest, Transfer, Region', async () => {
  const world = engineWorld(pair);
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
  const { engine, session, region, request, transfer } = engineWorld(pair);
  const { agent, list, prepared, handle, request: xfer } = agents;
  const { p2p, client, group, memId } = ends;
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
