// Every call of posted sends and receives, and every exported function, argument by argument.

import {
  allocateMemory,
  decodeMetadata,
  decodeRegDlist,
  decodeXferDlist,
  describeMemory,
  encodeMetadata,
  encodeRegDlist,
  encodeXferDlist,
  formatConnInfo,
  parseConnInfo,
  sliceRegion,
  TcpxSession,
  type TcpxTransfer,
} from '../../src/index.js';
import { type Calls, type Case, RIGHT } from './wrong-values.js';

export interface P2pWorld {
  readonly p2p: TcpxSession;
  readonly group: TcpxTransfer;
  /** Of registered memory. */
  readonly memId: number;
}

export function p2pOpenCases(): readonly Case[] {
  const field = (name: string) => (given: never) => TcpxSession.open({ [name]: given });
  return [
    ['options', RIGHT.options, (given) => TcpxSession.open(given)],
    ['name', RIGHT.optionalText, field('name')],
    ['settings', RIGHT.settings, field('settings')],
    ['log', RIGHT.optional, field('log')],
  ];
}

export function p2pCalls({ p2p }: P2pWorld): Calls<TcpxSession> {
  const memory = new Uint8Array(8);
  return {
    accept: [
      ['name', RIGHT.text, (given) => p2p.accept(given)],
      ['options', RIGHT.timeOrOptions, (given) => p2p.accept('x', given)],
      ['timeoutMs', RIGHT.optionalTime, (given) => p2p.accept('x', { timeoutMs: given })],
      ['signal', RIGHT.optional, (given) => p2p.accept('x', { signal: given })],
    ],
    loadRemoteConnInfo: [
      ['name', RIGHT.text, (given) => p2p.loadRemoteConnInfo(given, 'x')],
      ['info', RIGHT.anyText, (given) => p2p.loadRemoteConnInfo('x', given)],
    ],
    connect: [
      ['name', RIGHT.text, (given) => p2p.connect(given)],
      ['options', RIGHT.options, (given) => p2p.connect('x', given)],
      ['timeoutMs', RIGHT.optionalTime, (given) => p2p.connect('x', { timeoutMs: given })],
      ['signal', RIGHT.optional, (given) => p2p.connect('x', { signal: given })],
    ],
    disconnect: [['name', RIGHT.text, (given) => p2p.disconnect(given)]],
    allocateMemory: [
      ['bytes', ['number'], (given) => p2p.allocateMemory(given)],
      ['pages', RIGHT.optional, (given) => p2p.allocateMemory(4096, given)],
    ],
    registerMemory: [
      ['memory', [], (given) => p2p.registerMemory(given)],
      ['use', RIGHT.optional, (given) => p2p.registerMemory(memory, given)],
    ],
    deregisterMemory: [['id', ['number'], (given) => p2p.deregisterMemory(given)]],
    getMemoryHandle: [['id', ['number'], (given) => p2p.getMemoryHandle(given)]],
    createTransfer: [['name', RIGHT.text, (given) => p2p.createTransfer(given)]],
    ...{ listen: [], close: [] },
  };
}

export function groupCalls({ group, memId }: P2pWorld): Calls<TcpxTransfer> {
  const post = (call: 'postSend' | 'postRecv'): readonly Case[] => [
    ['memId', ['number'], (given) => group[call](given, 0, 8, 1)],
    ['offset', ['number'], (given) => group[call](memId, given, 1, 1)],
    ['bytes', ['number'], (given) => group[call](memId, 0, given, 1)],
    ['tag', ['number'], (given) => group[call](memId, 0, 8, given)],
  ];
  const columns = { memIds: [memId], offsets: [0], sizes: [8], tags: [1] };
  const batch = (call: 'postSendBatch' | 'postRecvBatch'): readonly Case[] => [
    ['batch', [], (given) => group[call](given)],
    ...Object.keys(columns).flatMap((name): Case[] => [
      [`column ${name}`, ['list'], (given) => group[call]({ ...columns, [name]: given })],
      [`one of ${name}`, ['number'], (given) => group[call]({ ...columns, [name]: [given] })],
    ]),
  ];
  return {
    postSend: post('postSend'),
    postRecv: post('postRecv'),
    postSendBatch: batch('postSendBatch'),
    postRecvBatch: batch('postRecvBatch'),
    consume: [['receive', [], (given) => group.consume(given)]],
    wait: [
      ['options', RIGHT.timeOrOptions, (given) => group.wait(given)],
      ['timeoutMs', RIGHT.optionalTime, (given) => group.wait({ timeoutMs: given })],
      ['signal', RIGHT.optional, (given) => group.wait({ signal: given })],
    ],
    isComplete: [],
    release: [],
  };
}

const INFO = { instance: '0123456789abcdef', port: 1, hosts: ['127.0.0.1'] };
const METADATA = { agent: 'a', connections: [], sections: [] };

export const functionCases: Readonly<Record<string, readonly Case[]>> = {
  allocateMemory: [
    ['bytes', ['number'], (given) => allocateMemory(given, 'normal')],
    ['pages', RIGHT.optional, (given) => allocateMemory(4096, given)],
  ],
  describeMemory: [
    ['memory', [], (given) => describeMemory(given)],
    ['devId', RIGHT.optionalCount, (given) => describeMemory(new Uint8Array(1), given)],
  ],
  sliceRegion: [
    ['region', [], (given) => sliceRegion(given)],
    ['region of a part', [], (given) => sliceRegion(given, 0, 4)],
    ['from', RIGHT.optionalCount, (given) => sliceRegion({ bytes: 10 }, given)],
  ],
  formatConnInfo: [
    ['info', [], (given) => formatConnInfo(given)],
    ['instance', RIGHT.text, (given) => formatConnInfo({ ...INFO, instance: given })],
    ['port', ['number'], (given) => formatConnInfo({ ...INFO, port: given })],
    ['hosts', ['array'], (given) => formatConnInfo({ ...INFO, hosts: given })],
  ],
  parseConnInfo: [['text', RIGHT.anyText, (given) => parseConnInfo(given)]],
  encodeMetadata: [
    ['metadata', [], (given) => encodeMetadata(given)],
    ['agent', RIGHT.text, (given) => encodeMetadata({ ...METADATA, agent: given })],
    ['connections', ['array'], (given) => encodeMetadata({ ...METADATA, connections: given })],
    ['a connection', [], (given) => encodeMetadata({ ...METADATA, connections: [given] })],
    ['sections', ['array'], (given) => encodeMetadata({ ...METADATA, sections: given })],
    ['a section', [], (given) => encodeMetadata({ ...METADATA, sections: [given] })],
  ],
  decodeMetadata: [['bytes', [], (given) => decodeMetadata(given)]],
  encodeRegDlist: [['list', [], (given) => encodeRegDlist(given)]],
  decodeRegDlist: [['bytes', [], (given) => decodeRegDlist(given)]],
  encodeXferDlist: [['list', [], (given) => encodeXferDlist(given)]],
  decodeXferDlist: [['bytes', [], (given) => decodeXferDlist(given)]],
};
