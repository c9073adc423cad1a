// Every call of an agent and of what goes with it, argument by argument.

import { Agent } from '../../src/nixl/agent.js';
import type { BackendHandle } from '../../src/nixl/backend-handle.js';
import type { RegDlist } from '../../src/nixl/descriptors.js';
import { PluginManager } from '../../src/nixl/plugin-manager.js';
import type { PreparedDlist } from '../../src/nixl/prepared-dlist.js';
import { tcpxPlugin } from '../../src/nixl/tcpx-backend.js';
import { XferDlist } from '../../src/nixl/xfer-dlist.js';
import type { XferRequest } from '../../src/nixl/xfer-request.js';
import { type Calls, type Case, RIGHT } from './wrong-values.js';

export interface AgentWorld {
  readonly agent: Agent;
  readonly handle: BackendHandle;
  /** Memory that is registered. */
  readonly list: RegDlist;
  readonly request: XferRequest;
  readonly prepared: { readonly here: PreparedDlist; readonly there: PreparedDlist };
}

export function agentCreateCases(): readonly Case[] {
  const field = (name: string) => (given: never) => Agent.create('b', { [name]: given });
  return [
    ['name', RIGHT.text, (given) => Agent.create(given)],
    ['options', RIGHT.options, (given) => Agent.create('b', given)],
    ['plugins', RIGHT.optional, field('plugins')],
    ['useListenThread', RIGHT.optionalFlag, field('useListenThread')],
    ['captureTelemetry', RIGHT.optionalFlag, field('captureTelemetry')],
    ['settings', RIGHT.settings, field('settings')],
    ['onPeerEvicted', [...RIGHT.optional, 'function'], field('onPeerEvicted')],
    ['log', RIGHT.optional, field('log')],
    ['signal', RIGHT.optional, field('signal')],
  ];
}

type Verb = (list: RegDlist, choice?: never) => unknown;

/** A list of ranges, and its parts; a choice of backends beside it. */
function listCases(verb: Verb, list: RegDlist): readonly Case[] {
  const [desc] = list.descs;
  const one = (part: object) => ({ ...list, descs: [{ ...desc, ...part }] }) as RegDlist;
  return [
    ['list', [], (given) => verb(given)],
    ['memType', [], (given) => verb({ ...list, memType: given })],
    ['descs', ['array'], (given) => verb({ ...list, descs: given })],
    ['a desc', [], (given) => verb({ ...list, descs: [given] })],
    ['addr', ['number'], (given) => verb(one({ addr: given }))],
    ['len', ['number'], (given) => verb(one({ len: given }))],
    ['devId', ['number', 'undefined'], (given) => verb(one({ devId: given }))],
    ...choiceCases((choice) => verb(list, choice as never)),
  ];
}

function choiceCases(verb: (choice: object) => unknown): readonly Case[] {
  return [
    ['options', RIGHT.options, (given) => verb(given)],
    ['backends', RIGHT.optionalList, (given) => verb({ backends: given })],
  ];
}

function exchangeCases(verb: (options: object) => unknown): readonly Case[] {
  const at = { ipAddr: '127.0.0.1', port: 1 };
  return [
    ['options', RIGHT.options, (given) => verb(given)],
    ['ipAddr', RIGHT.optionalText, (given) => verb({ ...at, ipAddr: given })],
    ['port', RIGHT.optionalCount, (given) => verb({ ...at, port: given })],
    ['metadataLabel', RIGHT.optionalText, (given) => verb({ metadataLabel: given })],
    ['signal', RIGHT.optional, (given) => verb({ ...at, signal: given })],
  ];
}

function xferOptionCases(verb: (options: object) => unknown): readonly Case[] {
  return [
    ...choiceCases(verb),
    ['notif', [...RIGHT.optionalText, 'empty'], (given) => verb({ notif: given })],
    ['customParam', [...RIGHT.optionalText, 'empty'], (given) => verb({ customParam: given })],
    ['skipDescMerge', RIGHT.optionalFlag, (given) => verb({ skipDescMerge: given })],
  ];
}

function controlCases(verb: (control: object) => unknown): readonly Case[] {
  return [
    ['control', RIGHT.options, (given) => verb(given)],
    ['signal', RIGHT.optional, (given) => verb({ signal: given })],
    ['deadlineMs', RIGHT.optionalTime, (given) => verb({ deadlineMs: given })],
  ];
}

const message: Case[1] = RIGHT.anyText;

export function agentCalls(world: AgentWorld): Calls<Agent> {
  const { agent, handle } = world;
  return {
    getPluginParams: [['type', RIGHT.text, (given) => agent.getPluginParams(given)]],
    createBackend: [
      ['type', RIGHT.text, (given) => agent.createBackend(given)],
      ['params', RIGHT.options, (given) => agent.createBackend('OTHER', given)],
      ['options', RIGHT.options, (given) => agent.createBackend('OTHER', {}, given)],
      ['signal', RIGHT.optional, (given) => agent.createBackend('OTHER', {}, { signal: given })],
    ],
    getBackendParams: [['handle', [], (given) => agent.getBackendParams(given)]],
    allocateMem: [
      ['bytes', ['number'], (given) => agent.allocateMem(given)],
      ['pages', RIGHT.optional, (given) => agent.allocateMem(4096, given)],
      ...choiceCases((choice) => agent.allocateMem(4096, 'normal', choice)),
    ],
    ...memoryCalls(world),
    ...transferVerbs(world),
    genNotif: [
      ['agent', RIGHT.text, (given) => agent.genNotif(given, 'x')],
      ['message', message, (given) => agent.genNotif('a', given)],
      ...choiceCases((choice) => agent.genNotif('a', 'x', choice)),
    ],
    getNotifs: [
      ['into', RIGHT.optional, (given) => agent.getNotifs(given)],
      ...choiceCases((choice) => agent.getNotifs(new Map(), choice)),
    ],
    updateNotifs: choiceCases((choice) => agent.updateNotifs(choice)),
    checkRemoteXferDone: [
      ['agent', RIGHT.text, (given) => agent.checkRemoteXferDone(given, 'x')],
      ['tag', message, (given) => agent.checkRemoteXferDone('a', given)],
      ...choiceCases((choice) => agent.checkRemoteXferDone('a', 'x', choice)),
      [
        'tagIsPrefix',
        RIGHT.optionalFlag,
        (given) => agent.checkRemoteXferDone('a', 'x', { tagIsPrefix: given }),
      ],
    ],
    waitNotifs: [
      ['options', ['number', 'fraction', 'object'], (given) => agent.waitNotifs(given)],
      ['timeoutMs', RIGHT.optionalTime, (given) => agent.waitNotifs({ timeoutMs: given })],
      ['signal', RIGHT.optional, (given) => agent.waitNotifs({ timeoutMs: 1, signal: given })],
    ],
    queryMem: [
      ['list', [], (given) => agent.queryMem(given, { backends: [handle] })],
      ['options', [], (given) => agent.queryMem(world.list, given)],
      ['backends', [], (given) => agent.queryMem(world.list, { backends: given })],
    ],
    ...{ getAvailPlugins: [], getLocalMD: [], getTelemetry: [], close: [] },
  };
}

function memoryCalls({ agent, list }: AgentWorld) {
  const partial = { includeConnInfo: true };
  return {
    registerMem: listCases((given, choice) => agent.registerMem(given, choice), list),
    deregisterMem: [
      ...listCases((given, choice) => agent.deregisterMem(given, choice), list),
      ['signal', RIGHT.optional, (given) => agent.deregisterMem(list, { signal: given })],
    ],
    prepMemView: listCases((given, choice) => agent.prepMemView(given, choice), list),
    releaseMemView: [['view', [], (given) => agent.releaseMemView(given)]],
    getLocalPartialMD: [
      ...listCases((given, choice) => agent.getLocalPartialMD(given, choice), list),
      [
        'includeConnInfo',
        RIGHT.optionalFlag,
        (given) => agent.getLocalPartialMD(list, { includeConnInfo: given }),
      ],
    ],
    loadRemoteMD: [['blob', [], (given) => agent.loadRemoteMD(given)]],
    invalidateRemoteMD: [['agent', RIGHT.text, (given) => agent.invalidateRemoteMD(given)]],
    checkRemoteMD: [
      ['agent', RIGHT.text, (given) => agent.checkRemoteMD(given)],
      ['list', RIGHT.optional, (given) => agent.checkRemoteMD('b', given)],
    ],
    sendLocalMD: exchangeCases((options) => agent.sendLocalMD(options)),
    sendLocalPartialMD: [
      ['list', [], (given) => agent.sendLocalPartialMD(given, { ipAddr: '127.0.0.1', port: 1 })],
      ...exchangeCases((options) => agent.sendLocalPartialMD(list, { ...partial, ...options })),
    ],
    fetchRemoteMD: [
      ['agent', RIGHT.text, (given) => agent.fetchRemoteMD(given)],
      ...exchangeCases((options) => agent.fetchRemoteMD('b', options)),
    ],
    invalidateLocalMD: exchangeCases((options) => agent.invalidateLocalMD(options)),
    makeConnection: [
      ['agent', RIGHT.text, (given) => agent.makeConnection(given)],
      ...choiceCases((choice) => agent.makeConnection('b', choice)),
      ['signal', RIGHT.optional, (given) => agent.makeConnection('b', { signal: given })],
      ['timeoutMs', RIGHT.optionalTime, (given) => agent.makeConnection('b', { timeoutMs: given })],
    ],
  } as const satisfies Partial<Calls<Agent>>;
}

function transferVerbs({ agent, list, request, prepared }: AgentWorld) {
  const { here, there } = prepared;
  const requestCase = (call: (given: never) => unknown): Case => ['request', [], call];
  return {
    prepXferDlist: [
      ['agent', RIGHT.anyText, (given) => agent.prepXferDlist(given, list)],
      ...listCases((given, choice) => agent.prepXferDlist('', given, choice), list),
    ],
    releasedDlistH: [['list', [], (given) => agent.releasedDlistH(given)]],
    makeXferReq: [
      ['op', [], (given) => agent.makeXferReq(given, here, [0], there, [0])],
      ['local', [], (given) => agent.makeXferReq('READ', given, [0], there, [0])],
      ['indices', [], (given) => agent.makeXferReq('READ', here, given, there, [0])],
      ['an index', [], (given) => agent.makeXferReq('READ', here, [given], there, [0])],
      ['remote', [], (given) => agent.makeXferReq('READ', here, [0], given, [0])],
      ['remote indices', [], (given) => agent.makeXferReq('READ', here, [0], there, given)],
      ...xferOptionCases((options) => agent.makeXferReq('READ', here, [0], there, [0], options)),
    ],
    createXferReq: [
      ['op', [], (given) => agent.createXferReq(given, list, list, 'a')],
      ...listCases((given, choice) => agent.createXferReq('READ', given, list, 'a', choice), list),
      ['remote', [], (given) => agent.createXferReq('READ', list, given, 'a')],
      ['agent', RIGHT.text, (given) => agent.createXferReq('READ', list, list, given)],
      ...xferOptionCases((options) => agent.createXferReq('READ', list, list, 'a', options)),
    ],
    postXferReq: [
      requestCase((given) => agent.postXferReq(given)),
      ['options', RIGHT.options, (given) => agent.postXferReq(request, given)],
      [
        'notif',
        [...RIGHT.optionalText, 'empty'],
        (given) => agent.postXferReq(request, { notif: given }),
      ],
      ...controlCases((control) => agent.postXferReq(request, undefined, control)),
    ],
    transfer: [
      requestCase((given) => agent.transfer(given)),
      ['notif', [...RIGHT.optionalText, 'empty'], (given) => agent.transfer(request, given)],
    ],
    checkXferState: [requestCase((given) => agent.checkXferState(given))],
    getXferStatus: [requestCase((given) => agent.getXferStatus(given))],
    waitXferReq: [
      requestCase((given) => agent.waitXferReq(given)),
      ...controlCases((control) => agent.waitXferReq(request, control)),
    ],
    releaseXferReq: [requestCase((given) => agent.releaseXferReq(given))],
    cancelXferReq: [
      requestCase((given) => agent.cancelXferReq(given)),
      ['options', RIGHT.options, (given) => agent.cancelXferReq(request, given)],
      ['signal', RIGHT.optional, (given) => agent.cancelXferReq(request, { signal: given })],
    ],
    estimateXferCost: [requestCase((given) => agent.estimateXferCost(given))],
    queryXferBackend: [requestCase((given) => agent.queryXferBackend(given))],
    getXferTelemetry: [requestCase((given) => agent.getXferTelemetry(given))],
  } as const satisfies Partial<Calls<Agent>>;
}

export function pluginCalls(): Calls<PluginManager> {
  const plugins = new PluginManager();
  return {
    register: [
      // An object that is no plugin is told which rule it breaks (ERR_CAP_PLUGIN).
      ['plugin', ['object', 'bare'], (given) => plugins.register(given)],
      ['type', RIGHT.optionalText, (given) => plugins.register(tcpxPlugin, given)],
    ],
    declare: [
      ['type', RIGHT.text, (given) => plugins.declare(given, './x.js')],
      ['specifier', RIGHT.text, (given) => plugins.declare('X', given)],
    ],
    load: [
      ['specifier', RIGHT.text, (given) => plugins.load(given)],
      ['type', RIGHT.optionalText, (given) => plugins.load('./x.js', given)],
    ],
    get: [['type', RIGHT.text, (given) => plugins.get(given)]],
    getAvailPlugins: [],
  };
}

export function dlistCalls({ list }: AgentWorld): Calls<XferDlist> {
  const columns = XferDlist.from(list);
  return {
    add: [
      ['addr', ['number'], (given) => columns.add(given, 1)],
      ['len', ['number'], (given) => columns.add(1, given)],
      ['devId', RIGHT.optionalCount, (given) => columns.add(1, 1, given)],
    ],
    at: [['index', [], (given) => columns.at(given)]],
  };
}
