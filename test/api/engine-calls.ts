// Every call of an engine, its sessions, transfers and regions, argument by argument.

import { Engine } from '../../src/engine/engine.js';
import type { Session, TransferRequest } from '../../src/engine/session.js';
import type { Transfer } from '../../src/engine/transfer.js';
import type { Region } from '../../src/memory/region.js';
import { type Calls, type Case, RIGHT } from './wrong-values.js';

export interface EngineWorld {
  readonly engine: Engine;
  readonly session: Session;
  readonly transfer: Transfer;
  readonly request: TransferRequest;
  readonly region: Region;
}

const MEMORY = new Uint8Array(64);

export function engineOpenCases(): readonly Case[] {
  const field = (name: string) => (given: never) => Engine.open({ [name]: given });
  return [
    ['options', RIGHT.options, (given) => Engine.open(given)],
    ['name', RIGHT.optionalText, field('name')],
    ['settings', RIGHT.settings, field('settings')],
    ['config', RIGHT.optional, field('config')],
    ['log', RIGHT.optional, field('log')],
    ['onSession', [...RIGHT.optional, 'function'], field('onSession')],
    ['onNotification', [...RIGHT.optional, 'function'], field('onNotification')],
    ['onActivity', [...RIGHT.optional, 'function'], field('onActivity')],
    ['gpu', RIGHT.optionalCount, field('gpu')],
    ['pluginEnvironment', RIGHT.options, field('pluginEnvironment')],
  ];
}

export function engineCalls({ engine, region }: EngineWorld): Calls<Engine> {
  const peer = '127.0.0.1:1';
  return {
    register: [
      ['memory', [], (given) => engine.register(given)],
      ['options', RIGHT.options, (given) => engine.register(MEMORY, given)],
      ['name', RIGHT.optionalText, (given) => engine.register(MEMORY, { name: given })],
      ['rights', RIGHT.optional, (given) => engine.register(MEMORY, { rights: given })],
      ['expiresMs', RIGHT.optionalTime, (given) => engine.register(MEMORY, { expiresMs: given })],
      ['addr', ['number'], (given) => engine.register({ addr: given, bytes: 64 })],
      ['bytes', ['number'], (given) => engine.register({ addr: 4096, bytes: given })],
      ['device', ['number'], (given) => engine.register({ device: given, addr: 4096, bytes: 64 })],
    ],
    deregister: [
      ['region', [], (given) => engine.deregister(given)],
      ['options', RIGHT.timeOrOptions, (given) => engine.deregister(region, given)],
      ['waitMs', RIGHT.optionalTime, (given) => engine.deregister(region, { waitMs: given })],
      ['signal', RIGHT.optional, (given) => engine.deregister(region, { signal: given })],
    ],
    allocate: [
      ['bytes', ['number'], (given) => engine.allocate(given)],
      ['pages', RIGHT.optional, (given) => engine.allocate(4096, given)],
    ],
    listen: [
      ['where', [...RIGHT.options, 'number', 'text'], (given) => engine.listen(given)],
      ['host', RIGHT.optionalText, (given) => engine.listen({ host: given, port: 0 })],
      ['port', RIGHT.optionalCount, (given) => engine.listen({ port: given })],
    ],
    connect: [
      ['where', RIGHT.text, (given) => engine.connect(given)],
      ['options', [...RIGHT.options, 'number'], (given) => engine.connect(peer, given)],
      ['port', RIGHT.optionalCount, (given) => engine.connect('127.0.0.1', { port: given })],
      ['timeoutMs', RIGHT.optionalTime, (given) => engine.connect(peer, { timeoutMs: given })],
      ['signal', RIGHT.optional, (given) => engine.connect(peer, { signal: given })],
      ['isPatient', RIGHT.optionalFlag, (given) => engine.connect(peer, { isPatient: given })],
      [
        'reconnect',
        [...RIGHT.optionalFlag, 'object'],
        (given) => engine.connect(peer, { reconnect: given }),
      ],
    ],
    notifications: [
      ['options', RIGHT.options, (given) => engine.notifications(given)],
      ['signal', RIGHT.optional, (given) => engine.notifications({ signal: given })],
    ],
    drive: [['promise', [], (given) => engine.drive(given)]],
    connInfo: [],
    unref: [],
    ref: [],
    progress: [],
    poll: [],
    nowUs: [],
    zeroCopyStats: [],
    laneStats: [],
    close: [],
  };
}

// eslint-disable-next-line max-lines-per-function -- a table
export function sessionCalls({ session, region }: EngineWorld): Calls<Session> {
  const remote = region.descriptor;
  const block = { local: MEMORY, remote };
  const listeners = (call: 'on' | 'once' | 'off'): readonly Case[] => [
    ['event', [], (given) => session[call](given, () => undefined)],
    ['listener', ['function'], (given) => session[call]('close', given)],
  ];
  const post = (call: 'write' | 'read'): readonly Case[] => [
    ['blocks', [], (given) => session[call](given)],
    ['a block', [], (given) => session[call]([given])],
    ['local', [], (given) => session[call]({ local: given, remote })],
    ['remote', [], (given) => session[call]({ local: MEMORY, remote: given })],
    [
      'localOffset',
      RIGHT.optionalCount,
      (given) => session[call]({ ...block, localOffset: given }),
    ],
    [
      'remoteOffset',
      RIGHT.optionalCount,
      (given) => session[call]({ ...block, remoteOffset: given }),
    ],
    ['bytes', RIGHT.optionalCount, (given) => session[call]({ ...block, bytes: given })],
    ['options', RIGHT.options, (given) => session[call](block, given)],
    [
      'notify',
      [...RIGHT.optionalText, 'empty'],
      (given) => session[call](block, { notify: given }),
    ],
    ['deadlineMs', RIGHT.optionalTime, (given) => session[call](block, { deadlineMs: given })],
    ['signal', RIGHT.optional, (given) => session[call](block, { signal: given })],
    ['sourceReady', RIGHT.optional, (given) => session[call](block, { sourceReady: given })],
  ];
  const columns = {
    count: 1,
    localOffsets: Float64Array.of(0),
    remoteOffsets: Float64Array.of(0),
    bytes: Float64Array.of(64),
    localIndexes: Uint32Array.of(0),
    remoteIndexes: Uint32Array.of(0),
    locals: [region],
    remotes: [remote],
  };
  const columnCases = Object.keys(columns).map(
    (name): Case => [
      `column ${name}`,
      [],
      (given) => session.prepare('write', { ...columns, [name]: given }),
    ],
  );
  return {
    prepare: [
      ['operation', [], (given) => session.prepare(given, block)],
      ['blocks', [], (given) => session.prepare('write', given)],
      ...columnCases,
    ],
    write: post('write'),
    read: post('read'),
    notify: [
      ['message', RIGHT.anyText, (given) => session.notify(given)],
      ['options', RIGHT.options, (given) => session.notify('x', given)],
      ['deadlineMs', RIGHT.optionalTime, (given) => session.notify('x', { deadlineMs: given })],
      ['signal', RIGHT.optional, (given) => session.notify('x', { signal: given })],
    ],
    lookup: [
      ['name', RIGHT.text, (given) => session.lookup(given)],
      ['options', RIGHT.options, (given) => session.lookup('x', given)],
      ['waitMs', RIGHT.optionalTime, (given) => session.lookup('x', { waitMs: given })],
      ['signal', RIGHT.optional, (given) => session.lookup('x', { signal: given })],
    ],
    reopen: [
      ['options', RIGHT.options, (given) => session.reopen(given)],
      ['timeoutMs', RIGHT.optionalTime, (given) => session.reopen({ timeoutMs: given })],
      ['signal', RIGHT.optional, (given) => session.reopen({ signal: given })],
    ],
    on: listeners('on'),
    once: listeners('once'),
    off: listeners('off'),
    kernelCounters: [],
    pluginThreads: [],
    ref: [],
    unref: [],
    close: [],
  };
}

export function transferCalls({ transfer }: EngineWorld): Calls<Transfer> {
  return {
    wait: [['timeoutMs', ['number', 'fraction'], (given) => transfer.wait(given)]],
    cancelOn: [['signal', [], (given) => transfer.cancelOn(given)]],
    setDeadline: [['deadlineMs', ['number', 'fraction'], (given) => transfer.setDeadline(given)]],
    // As of promises: what is no function is passed over.
    ...{ then: [], catch: [], finally: [] },
    ...{ poll: [], progress: [], cancel: [], receipt: [], settle: [] },
  };
}

export function requestCalls({ request }: EngineWorld): Calls<TransferRequest> {
  return {
    post: [
      ['options', RIGHT.options, (given) => request.post(given)],
      ['signal', RIGHT.optional, (given) => request.post({ signal: given })],
      ['deadlineMs', RIGHT.optionalTime, (given) => request.post({ deadlineMs: given })],
      ['notify', [...RIGHT.optionalText, 'empty'], (given) => request.post({ notify: given })],
    ],
    release: [],
  };
}

export function regionCalls({ region }: EngineWorld): Calls<Region> {
  return {
    slice: [
      ['from', RIGHT.optionalCount, (given) => region.slice(given)],
      ['to', RIGHT.optionalCount, (given) => region.slice(0, given)],
    ],
  };
}
