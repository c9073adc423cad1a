// Every function and method that programs can call, with arguments that are right: what the mutated
// calls begin with.

import * as door from '../../src/index.js';
import type { AgentWorld } from './agent-calls.js';
import type { EngineWorld } from './engine-calls.js';
import type { RightCall } from './mutated-calls.js';
import type { P2pWorld } from './p2p-calls.js';

type Call = RightCall[1];

const CALLER = { 'lane.progress': 'caller' } as const;
const SIGNAL = new AbortController().signal;
const MEMORY = new Uint8Array(64);
const nothing = (): void => undefined;
const log: door.Log = {
  ...{ error: nothing, warn: nothing, info: nothing, debug: nothing, trace: nothing },
};

/** Every method of the object, with the arguments that are named; without any where none are. */
function methods(
  owner: string,
  thing: object,
  given: Readonly<Record<string, readonly unknown[]>>,
  left: readonly string[] = [],
): RightCall[] {
  const names = new Set<string>();
  for (let at: object = thing; at !== Object.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value === 'function' && name !== 'constructor') names.add(name);
    }
  }
  return [...names]
    .filter((name) => !left.includes(name))
    .map((name) => {
      const call: Call = (...args) => (Reflect.get(thing, name) as Call).apply(thing, args);
      return [`${owner}.${name}`, call, given[name] ?? []];
    });
}

/** What was opened is closed again. */
function opening(open: Call): Call {
  return async (...given) => {
    const opened = (await open(...given)) as { close(): Promise<void> };
    await opened.close();
  };
}

export function openingCalls(): readonly RightCall[] {
  // Aborted: what is right otherwise opens nothing, and there are many of them.
  const options = { name: 'x', settings: CALLER, log, signal: AbortSignal.abort() };
  const hooks = { onSession: nothing, onNotification: nothing, onActivity: nothing };
  const engine = { ...options, ...hooks, gpu: 0, pluginEnvironment: { A: 'b' } };
  const agent = { ...{ useListenThread: false, captureTelemetry: false }, onPeerEvicted: nothing };
  const plugins = new door.PluginManager();
  return [
    ['Engine.open', opening((given) => door.Engine.open(given)), [engine]],
    [
      'Agent.create',
      opening((name, given) => door.Agent.create(name, given)),
      ['x', { ...agent, log, plugins, settings: {}, signal: AbortSignal.abort() }],
    ],
    ['TcpxSession.open', opening((given) => door.TcpxSession.open(given)), [options]],
  ];
}

export function engineRightCalls(world: EngineWorld): readonly RightCall[] {
  const { engine, session, region, request, transfer } = world;
  const remote = region.descriptor;
  const place = { localOffset: 0, remoteOffset: 0, bytes: 8 };
  const post = { notify: 'x', deadlineMs: 1000, signal: SIGNAL };
  const block = { local: MEMORY, remote, ...place };
  const columns = {
    ...{ count: 1, locals: [region], remotes: [remote] },
    ...{ localOffsets: Float64Array.of(0), remoteOffsets: Float64Array.of(0) },
    ...{ localIndexes: Uint32Array.of(0), remoteIndexes: Uint32Array.of(0) },
    bytes: Float64Array.of(8),
  };
  const wait = { timeoutMs: 10, signal: SIGNAL };
  const reconnect = { attempts: 1, delayMs: 1, delayMsMax: 1, afterGoodbye: true };
  const stream = engine.notifications();
  return [
    ...methods(
      'engine',
      engine,
      {
        register: [MEMORY, { name: 'name', rights: { read: true, write: true }, expiresMs: 1000 }],
        deregister: [region, { waitMs: 0, signal: AbortSignal.abort() }],
        ...{ allocate: [4096, 'normal'], listen: [{ host: '127.0.0.1', port: 0 }] },
        connect: ['127.0.0.1:1', { ...wait, port: 1, isPatient: false, reconnect }],
        notifications: [{ signal: SIGNAL }],
        drive: [Promise.resolve(1)],
      },
      ['close'],
    ),
    ...methods(
      'session',
      session,
      {
        ...{ prepare: ['write', [block]], write: [block, post], read: [[block], post] },
        ...{ notify: ['x', { deadlineMs: 1000, signal: SIGNAL }] },
        lookup: ['x', { waitMs: 1, signal: SIGNAL }],
        reopen: [wait],
        ...{ on: ['close', nothing], once: ['close', nothing], off: ['close', nothing] },
      },
      ['close'],
    ),
    ['session.prepare', (given) => session.prepare('write', given), [columns]],
    ['session.write', (given) => session.write(given), [{ ...block, local: region.slice(0, 8) }]],
    ...methods('request', request, { post: [post] }, ['release']),
    ...methods('transfer', transfer, {
      ...{ wait: [0], setDeadline: [1000], cancelOn: [SIGNAL] },
      ...{ then: [nothing, nothing], catch: [nothing], finally: [nothing] },
    }),
    ...methods('region', region, { slice: [0, 8] }),
    ...methods('stream', stream, {}, ['next']),
  ];
}

export function agentRightCalls(world: AgentWorld): readonly RightCall[] {
  const { agent, handle, list, request, prepared } = world;
  const { here, there } = prepared;
  const choice = { backends: [handle] };
  const wait = { signal: AbortSignal.abort() };
  const exchange = { ipAddr: '127.0.0.1', port: 1, metadataLabel: 'x', ...wait };
  const options = { ...choice, notif: 'x', customParam: 'x', skipDescMerge: true };
  const control = { signal: AbortSignal.abort(), deadlineMs: 1 };
  const dlist = door.XferDlist.from(list);
  return [
    ...methods(
      'agent',
      agent,
      {
        ...{ getPluginParams: ['TCPX'], createBackend: ['NONE', { a: 'b' }, wait] },
        ...{ getBackendParams: [handle], allocateMem: [4096, 'normal', choice] },
        ...{ registerMem: [list, { ...choice, ...wait }], queryMem: [list, choice] },
        deregisterMem: [list, { ...choice, ...wait }],
        ...{ prepMemView: [list, choice], releaseMemView: [{}] },
        getLocalPartialMD: [list, { ...choice, includeConnInfo: true }],
        ...{ loadRemoteMD: [agent.getLocalMD()], invalidateRemoteMD: ['x'] },
        ...{ checkRemoteMD: ['a', list], sendLocalMD: [exchange], fetchRemoteMD: ['x', exchange] },
        sendLocalPartialMD: [list, { ...exchange, ...choice, includeConnInfo: true }],
        invalidateLocalMD: [exchange],
        makeConnection: ['x', { ...choice, ...wait, timeoutMs: 1 }],
        ...{ prepXferDlist: ['', list, choice], releasedDlistH: [{}] },
        makeXferReq: ['READ', here, [0], there, [0], options],
        createXferReq: ['READ', list, list, 'a', options],
        ...{ postXferReq: [request, { notif: 'x' }, control], transfer: [request, 'x'] },
        ...{ checkXferState: [request], getXferStatus: [request] },
        ...{ waitXferReq: [request, control], cancelXferReq: [{}, wait], releaseXferReq: [{}] },
        ...{ estimateXferCost: [request], queryXferBackend: [request] },
        ...{ getXferTelemetry: [request], genNotif: ['a', 'x', choice] },
        ...{ getNotifs: [new Map(), choice], updateNotifs: [choice] },
        checkRemoteXferDone: ['a', 'x', { ...choice, tagIsPrefix: true }],
        waitNotifs: [{ timeoutMs: 1, signal: SIGNAL }],
      },
      ['close'],
    ),
    ...methods('plugins', new door.PluginManager(), {
      ...{ register: [door.tcpxPlugin, 'X'], declare: ['Y', './x.js'] },
      ...{ load: ['./x.js', 'Z'], get: ['Y'] },
    }),
    ...methods('list', dlist, { add: [1, 1, 0], at: [0] }),
    ['new XferDlist', (given) => new door.XferDlist(given), [door.MemType.DRAM]],
    ['XferDlist.from', (given) => door.XferDlist.from(given), [list]],
  ];
}

export function p2pRightCalls({ p2p, group, memId }: P2pWorld): readonly RightCall[] {
  const batch = { memIds: [memId], offsets: [0], sizes: [8], tags: [1] };
  const wait = { timeoutMs: 1, signal: AbortSignal.abort() };
  return [
    ...methods(
      'p2p',
      p2p,
      {
        ...{ accept: ['x', wait], loadRemoteConnInfo: ['x', 'x'], connect: ['x', wait] },
        ...{ disconnect: ['nobody'], allocateMemory: [4096, 'normal'], createTransfer: ['client'] },
        ...{ registerMemory: [MEMORY, 'both'], getMemoryHandle: [memId] },
        deregisterMemory: [999, { waitMs: 0, signal: AbortSignal.abort() }],
      },
      ['close'],
    ),
    ...methods(
      'group',
      group,
      {
        ...{ postSend: [memId, 0, 8, 1], postRecv: [memId, 0, 8, 1] },
        ...{ postSendBatch: [batch], postRecvBatch: [batch], consume: [{}], wait: [wait] },
      },
      ['release'],
    ),
  ];
}

export function functionRightCalls({ list }: AgentWorld): readonly RightCall[] {
  const info = { instance: '0123456789abcdef', port: 1, hosts: ['127.0.0.1'] };
  const section = { type: 'TCPX', memType: door.MemType.DRAM, descs: [] };
  const connections = [{ type: 'TCPX', info: new Uint8Array(2) }];
  const metadata = { agent: 'a', connections, sections: [section] };
  const given: Readonly<Record<string, readonly unknown[]>> = {
    allocateMemory: [4096, 'normal'],
    decodeMetadata: [door.encodeMetadata(metadata)],
    decodeRegDlist: [door.encodeRegDlist(list)],
    decodeXferDlist: [door.encodeXferDlist(door.XferDlist.from(list))],
    describeMemory: [MEMORY, 0],
    encodeMetadata: [metadata],
    encodeRegDlist: [list],
    encodeXferDlist: [list],
    formatConnInfo: [info],
    isTcpxError: [new Error('x'), 'ERR_USAGE_ARGUMENT'],
    ...{ nixlStatusName: [0], nixlStatusOf: [new Error('x')], xferStateOf: [0] },
    parseConnInfo: [door.formatConnInfo(info)],
    sliceRegion: [{ bytes: 8 }, 0, 8],
  };
  const functions = Object.entries(door).flatMap(([name, value]): RightCall[] => {
    if (typeof value !== 'function' || !/^[a-z]/.test(name)) return [];
    return [[name, value as unknown as Call, given[name] ?? []]];
  });
  const { AbortError, TcpxError } = door;
  const code = 'ERR_USAGE_ARGUMENT';
  const facts = { a: 1 };
  return [
    ...functions,
    [
      'new AbortError',
      (...args) => Reflect.construct(AbortError, args) as unknown,
      ['x', SIGNAL, code, facts],
    ],
    [
      'new TcpxError',
      (...args) => Reflect.construct(TcpxError, args) as unknown,
      [code, 'x', { cause: new Error('x'), facts }],
    ],
  ];
}
