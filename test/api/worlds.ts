// One of everything that programs call, each in a world where callers drive.

import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType } from '../../src/nixl/memory-type.js';
import { TcpxSession } from '../../src/p2p/tcpx-session.js';
import { type EnginePair, KeptLog } from '../support/engine-pair.js';
import type { AgentWorld } from './agent-calls.js';
import type { EngineWorld } from './engine-calls.js';
import type { P2pWorld } from './p2p-calls.js';

export const CALLER = { 'lane.progress': 'caller' } as const;
const { log } = new KeptLog();

export interface EndsWorld extends P2pWorld {
  /** The other end. */
  readonly client: TcpxSession;
}

export async function openAgent(): Promise<AgentWorld> {
  const agent = await Agent.create('a', { log, captureTelemetry: true });
  const handle = await agent.createBackend('TCPX', CALLER);
  const list = { memType: MemType.DRAM, descs: [describeMemory(new Uint8Array(64))] };
  await agent.registerMem(list);
  const request = agent.createXferReq('READ', list, list, 'a');
  const prepared = { here: agent.prepXferDlist('', list), there: agent.prepXferDlist('a', list) };
  return { agent, handle, list, request, prepared };
}

export async function openEnds(): Promise<EndsWorld> {
  const p2p = await TcpxSession.open({ name: 'server', settings: CALLER, log });
  const client = await TcpxSession.open({ name: 'client', settings: CALLER, log });
  client.loadRemoteConnInfo('server', p2p.listen());
  await Promise.all([p2p.accept('client', 5000), client.connect('server', { timeoutMs: 5000 })]);
  const memId = p2p.registerMemory(new Uint8Array(8));
  return { p2p, client, group: p2p.createTransfer('client'), memId };
}

export function engineWorld(pair: EnginePair): EngineWorld {
  const engine = pair.client;
  const session = pair.session.face;
  const region = engine.register(new Uint8Array(64));
  const request = session.prepare('write', { local: region, remote: region.descriptor });
  return { engine, region, request, session, transfer: session.notify('x') };
}
