// What programs hold has at run time what its type says, and nothing else: the engine's own parts
// are out of reach also for programs without types.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { publicSurface } from '../../scripts/docs/api-comments.js';
import * as door from '../../src/index.js';
import { closeEngines, KeptLog, openEngine } from '../support/engine-pair.js';

const surface = publicSurface();
const CALLER = { 'lane.progress': 'caller' } as const;
const { log } = new KeptLog();
const opened: { close(): Promise<void> }[] = [];

after(async () => {
  await Promise.all([...opened.map((one) => one.close()), closeEngines()]);
});

const OF_OTHERS: readonly object[] = [
  ...[Object.prototype, Function.prototype, Error.prototype],
  Error,
];

/** Members that can be named, of the object and of its classes. */
function membersOf(thing: object): string[] {
  const names = new Set<string>();
  let at = thing;
  for (; !OF_OTHERS.includes(at); at = Object.getPrototypeOf(at) as object) {
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  }
  names.delete('constructor');
  return [...names];
}

/** `toJSON` and the properties that every function has are of the platform. */
const OF_PLATFORM = ['toJSON', 'length', 'name', 'prototype', 'stack', 'message', 'cause'];

function undeclared(type: string, thing: object): string[] {
  const declared = surface.map(({ name }) => name);
  assert.ok(declared.includes(type), `${type} is a public name`);
  return membersOf(thing)
    .filter((member) => !declared.includes(`${type}.${member}`) && !OF_PLATFORM.includes(member))
    .map((member) => `${type}.${member}`);
}

async function engineThings(): Promise<Readonly<Record<string, object>>> {
  let arrive: (notification: door.PeerNotification) => void = () => undefined;
  const arrived = new Promise<door.PeerNotification>((resolve) => (arrive = resolve));
  const server = await openEngine({}, { onNotification: (one) => arrive(one) });
  const client = await openEngine();
  server.register(new Uint8Array(64), { name: 'x' });
  const session = await client.connect(`127.0.0.1:${server.listen('127.0.0.1:0')}`);
  const remote = await session.lookup('x');
  const region = client.register(new Uint8Array(64));
  const request = session.prepare('write', { local: region, remote });
  const transfer = request.post({ notify: 'x' });
  const receipt = await transfer;
  return {
    ...{ Engine: client, Session: session, TransferRequest: request, Transfer: transfer },
    ...{ Region: region, RegionDescriptor: remote, RegionSlice: region.slice(1), Receipt: receipt },
    ...{ NotificationStream: client.notifications(), PeerNotification: await arrived },
    ...{ Config: client.config, Log: client.log, RegionMemory: client.allocate(4096) },
    ...{ ConnInfo: server.connInfo(), CheckedBlocks: request.blocks },
    ...{ TransferProgress: transfer.progress() },
  };
}

async function agentThings(): Promise<Readonly<Record<string, object>>> {
  const agent = await door.Agent.create('a', { log });
  opened.push(agent);
  const handle = await agent.createBackend('TCPX', CALLER);
  const memory = door.describeMemory(new Uint8Array(64));
  const list = { memType: door.MemType.DRAM, descs: [memory] };
  await agent.registerMem(list);
  return {
    ...{ Agent: agent, BackendHandle: handle, HostDesc: memory },
    XferRequest: agent.createXferReq('READ', list, list, 'a'),
    PreparedDlist: agent.prepXferDlist('', list),
    ...{ XferDlist: door.XferDlist.from(list), PluginManager: new door.PluginManager() },
    BackendPlugin: door.tcpxPlugin,
  };
}

async function p2pThings(): Promise<Readonly<Record<string, object>>> {
  const server = await door.TcpxSession.open({ name: 'server', log });
  const client = await door.TcpxSession.open({ name: 'client', log });
  opened.push(server, client);
  client.loadRemoteConnInfo('server', server.listen());
  await Promise.all([server.accept('client'), client.connect('server')]);
  const id = server.registerMemory(new Uint8Array(8));
  const group = server.createTransfer('client');
  return {
    ...{ TcpxSession: server, TcpxTransfer: group, MemoryHandle: server.getMemoryHandle(id) },
    ...{ Receive: group.postRecv(id, 0, 8, 1), Send: group.postSend(id, 0, 8, 1) },
    ...{ OperationCounts: group.sends, ReceiveCounts: group.receives },
  };
}

test('public members: what programs hold has no more than its type says', async () => {
  const things = { ...(await engineThings()), ...(await agentThings()), ...(await p2pThings()) };
  const hidden = Object.entries(things).flatMap(([type, thing]) => undeclared(type, thing));
  assert.deepEqual(hidden, []);
});

test('public members: the same of the classes themselves, and of errors', () => {
  const { AbortError, Agent, Engine, PluginManager, TcpxError, TcpxSession, XferDlist } = door;
  const classes = { AbortError, Agent, Engine, PluginManager, TcpxError, TcpxSession, XferDlist };
  const exported = Object.keys(door).filter((name) => {
    return typeof Reflect.get(door, name) === 'function' && /^[A-Z]/.test(name);
  });
  assert.deepEqual(Object.keys(classes), exported.sort(), 'every class');
  assert.deepEqual(
    Object.entries(classes).flatMap(([name, value]) => undeclared(name, value)),
    [],
  );
  const error = new door.TcpxError('ERR_USAGE_ARGUMENT', 'x');
  const aborted = new door.AbortError('x', AbortSignal.abort());
  assert.deepEqual([...undeclared('TcpxError', error), ...undeclared('AbortError', aborted)], []);
});
