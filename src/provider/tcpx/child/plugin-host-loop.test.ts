// The loop of a plugin host against a plugin that notes every call: no process, no network.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { viewMemory } from '../../../ffi/libc/library.js';
import { type Mapping, mapMemory, unmapMemory } from '../../../ffi/libc/mapping.js';
import { type NetPlugin, POINTER_HOST } from '../../../ffi/nccl-net/net-plugin.js';
import type { PluginLogger } from '../../../ffi/nccl-net/plugin-logger.js';
import { CHUNK_FIELDS, RECEIVE, RECORD_CHUNK, SEND } from '../host-layout.js';
import { HostLink, publishRecords, putText, reserveRecord } from '../host-link.js';
import type { HostOptions } from '../host-message.js';
import { CpuMover } from './chunk-mover.js';
import { GuardedPlugin } from './guarded-plugin.js';
import { PluginHostLoop } from './plugin-host-loop.js';
import { RxdmWatch } from './rxdm-watch.js';

const CHANNELS = 3;
const CHUNK_BYTES = 4096;
const OPTIONS: HostOptions = {
  pluginPath: '',
  pluginName: '',
  gpu: 0,
  chunkBytes: CHUNK_BYTES,
  recvWindow: 16,
  sendWindow: 12,
  isHostRecv: true,
  unpack: 'none',
  sendFrom: 'auto',
  bounceBytes: 0,
  rxdmTimeoutMs: 5000,
};

const maps: Mapping[] = [];
after(() => maps.forEach((mapping) => unmapMemory(mapping)));

function memory(bytes: number): Mapping {
  const mapping = mapMemory(bytes);
  maps.push(mapping);
  return mapping;
}

/** Every request is done at its second test. Comms are 100 + n for sends, 200 + n for receives. */
class NotingPlugin {
  readonly calls: string[] = [];
  readonly name = 'noting';
  readonly #requests = memory(64 * 1024);
  readonly #tests = new Map<number, number>();
  readonly #comms = new Map<number, number>();
  #count = 0;
  #next = 0;

  readonly messages = {
    isend: (comm: number) => this.#post('isend', comm, 0, CHUNK_BYTES),
    irecv: (comm: number, _: number, bytes: number) => this.#post('irecv', comm, 1, bytes),
    test: (request: number) => {
      const tests = (this.#tests.get(request) ?? 0) + 1;
      this.#tests.set(request, tests);
      this.calls.push(`test ${this.#comms.get(request)}${tests < 2 ? '' : ' done'}`);
      return tests < 2 ? 0 : 1;
    },
    irecvConsumed: (comm: number) => {
      this.calls.push(`consumed ${comm}`);
      return 0;
    },
  };

  init(): void {
    this.calls.push('init');
  }

  deviceCount(): number {
    return 1;
  }

  properties() {
    return { name: 'eth1' };
  }

  listen(): number {
    return 1 + this.#count++;
  }

  connect(): number {
    return 100 + this.#next++;
  }

  accept(listenComm: number): number {
    return 199 + listenComm;
  }

  registerMemory(comm: number): number {
    return comm * 10;
  }

  #post(call: string, comm: number, op: number, bytes: number): number {
    this.calls.push(`${call} ${comm}`);
    const request = this.#requests.addr + 128 * (this.#comms.size % 512);
    const view = new DataView(viewMemory(request, 128));
    view.setInt32(16, op, true);
    view.setInt32(36, bytes, true);
    this.#comms.set(request, comm);
    return request;
  }
}

function openLoop() {
  const plugin = new NotingPlugin();
  const link = HostLink.create();
  // checked: the loop uses no more of it than is here
  const net = plugin as unknown as NetPlugin;
  const guarded = new GuardedPlugin(net, link.memory.int32, undefined);
  guarded.init({} as PluginLogger);
  const loop = new PluginHostLoop({
    link,
    wakeFd: -1,
    surroundings: {
      plugin: guarded,
      options: OPTIONS,
      float64: link.memory.float64,
      pointerType: POINTER_HOST,
      cpu: new CpuMover('none', CHUNK_BYTES, undefined),
      gpu: undefined,
      lastWarning: () => '',
      rxdm: new RxdmWatch(OPTIONS.rxdmTimeoutMs),
      bounceBytes: () => 0,
    },
    deviceOf: () => 0,
    mapRegion: ({ bytes }) => ({
      ...memory(bytes),
      isDevice: false,
      deviceAddr: 0,
      isRailMemory: false,
      unmap: () => undefined,
    }),
    pages: () => ({ pages: 0, freePages: 0 }),
    placement: () => ({
      verdict: 'none',
      nics: [],
      bindings: { tx: '', rx: '' },
      threads: [],
      reason: '',
    }),
    hasParent: () => true,
  });
  const tell = (command: object): void => {
    assert.ok(putText(link.commands, JSON.stringify(command)));
  };
  const shared = { way: 'shared', path: '', bytes: 1024 * 1024 };
  tell({ op: 'map', id: 1, region: 0, memory: shared });
  for (let channel = 0; channel < CHANNELS; channel++) {
    tell({ op: 'listen', id: 2, channel, nic: 'eth1' });
    tell({ op: 'join', id: 3, channel, handle: '0'.repeat(256) });
  }
  const put = (channel: number, direction: number, index: number): void => {
    const at = reserveRecord(link.commands, RECORD_CHUNK, CHUNK_FIELDS * 8);
    const fields = [channel, direction, 1, index, index + 1, 0, index * CHUNK_BYTES, CHUNK_BYTES];
    link.memory.float64.set([...fields, 0, 0], at / 8);
    publishRecords(link.commands);
  };
  return { plugin, loop, link, put };
}

test('host loop: after every post the oldest of every busy channel is tested', () => {
  const { plugin, loop, link, put } = openLoop();
  while (loop.turn());
  for (let channel = 0; channel < CHANNELS; channel++) {
    for (let index = 0; index < 20; index++) {
      put(channel, SEND, index);
      put(channel, RECEIVE, index);
    }
  }
  plugin.calls.length = 0;
  for (let turn = 0; turn < 200; turn++) loop.turn();
  const open = new Map<string, number>();
  let untested = new Set<string>();
  for (const [at, call] of plugin.calls.entries()) {
    const [name = '', comm = '', done] = call.split(' ');
    if (name === 'isend' || name === 'irecv') {
      // Both directions of one channel are posted together, then all are progressed.
      const isPartner = plugin.calls[at - 1] === `isend ${Number(comm) - 100}`;
      if (!isPartner) assert.deepEqual([...untested], [], `before ${call}, ${at}`);
      open.set(comm, (open.get(comm) ?? 0) + 1);
      untested = new Set([...open.keys()].filter((one) => (open.get(one) ?? 0) > 0));
    } else if (name === 'test') {
      untested.delete(comm);
      if (done !== undefined) open.set(comm, (open.get(comm) ?? 0) - 1);
    }
  }
  const posts = plugin.calls.filter((call) => /^i(send|recv) /.test(call));
  assert.equal(posts.length, CHANNELS * 2 * 20);
  assert.equal(plugin.calls.filter((call) => call.startsWith('consumed')).length, CHANNELS * 20);
  link.close();
});

test('host loop: windows of 12 and 16 hold back what is not finished', () => {
  const { plugin, loop, link, put } = openLoop();
  while (loop.turn());
  plugin.messages.test = () => 0;
  for (let index = 0; index < 40; index++) {
    put(0, SEND, index);
    put(0, RECEIVE, index);
  }
  plugin.calls.length = 0;
  for (let turn = 0; turn < 100; turn++) loop.turn();
  assert.equal(plugin.calls.filter((call) => call.startsWith('isend')).length, 12);
  assert.equal(plugin.calls.filter((call) => call.startsWith('irecv')).length, 16);
  link.close();
});
