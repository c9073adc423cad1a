// The plugin as the host uses it: every call is checked for order before, named in shared memory
// while it lasts (so that a hang has a name), and written to the trace after.

import type {
  Address,
  ByteCount,
  ChannelSlot,
  CommHandle,
  MemoryHandle,
  RequestHandle,
  Tag,
} from '../../../base/quantity.js';
import type { NetPlugin } from '../../../ffi/nccl-net/net-plugin.js';
import { TEST_PENDING } from '../../../ffi/nccl-net/plugin-calls.hot.js';
import type { PluginLogger } from '../../../ffi/nccl-net/plugin-logger.js';
import type { DeviceProperties } from '../../../ffi/nccl-net/properties.js';
import { PLUGIN_CALLS, type PluginCallName, WORD_CALL, WORD_CALL_CHANNEL } from '../host-layout.js';
import type { CallTrace, TraceFields } from '../trace/call-trace.js';
import { CallOrder } from './call-order.js';

const CALL_NUMBERS = Object.fromEntries(
  PLUGIN_CALLS.map((name, index) => [name, index]),
) as Readonly<Record<PluginCallName, number>>;
const CALL_TEST = CALL_NUMBERS.test;
const CALL_ISEND = CALL_NUMBERS.isend;
const CALL_IRECV = CALL_NUMBERS.irecv;
const CALL_CONSUMED = CALL_NUMBERS.irecvConsumed;

/** What a message call is about, for the trace. */
export interface ChunkFacts {
  readonly chunk: number;
  readonly tag: Tag;
  readonly offset: number;
  readonly bytes: ByteCount;
}

export class GuardedPlugin {
  readonly plugin: NetPlugin;
  readonly trace: CallTrace | undefined;
  readonly #order = new CallOrder();
  readonly #words: Int32Array;
  /** Polls of accept, connect and test since the last that was written, by comm or handle. */
  readonly #polls = new Map<number, number>();

  constructor(plugin: NetPlugin, words: Int32Array, trace: CallTrace | undefined) {
    this.plugin = plugin;
    this.#words = words;
    this.trace = trace;
  }

  init(logger: PluginLogger): DeviceProperties[] {
    this.#order.onInit();
    this.#during('init', -1, () => this.plugin.init(logger));
    this.#order.onInitDone();
    const devices = Array.from({ length: this.plugin.deviceCount() }, (_, dev) =>
      this.plugin.properties(dev),
    );
    this.trace?.write('init', { name: this.plugin.name, devices: devices.length });
    for (const [dev, device] of devices.entries()) {
      const fields: Record<string, string | number> = { dev };
      for (const [key, value] of Object.entries(device)) fields[key] = value ?? 'none';
      this.trace?.write('properties', fields);
    }
    return devices;
  }

  listen(channel: ChannelSlot, dev: number, handleAddr: Address): CommHandle {
    this.#order.requireReady();
    const comm = this.#during('listen', channel, () => this.plugin.listen(dev, handleAddr));
    this.#order.onListening(comm);
    this.trace?.write('listen', { channel, dev });
    return comm;
  }

  /** 0 while not connected. */
  connect(channel: ChannelSlot, dev: number, handleAddr: Address): CommHandle {
    this.#order.requireReady();
    const comm = this.#during('connect', channel, () => this.plugin.connect(dev, handleAddr));
    if (comm === 0) return this.#poll(handleAddr);
    this.#order.onConnected(comm);
    this.trace?.write('connect', { channel, dev, polls: this.#takePolls(handleAddr) });
    return comm;
  }

  /** 0 while nobody came. */
  accept(channel: ChannelSlot, listenComm: CommHandle, deviceAddr: Address): CommHandle {
    this.#order.beforeAccept(listenComm, deviceAddr);
    const accept = () => this.plugin.accept(listenComm, deviceAddr);
    let comm: CommHandle;
    try {
      comm = this.#during('accept', channel, accept);
    } catch (error) {
      this.#order.onAcceptFailed(listenComm);
      throw error;
    }
    if (comm === 0) return this.#poll(listenComm);
    this.#order.onAccepted(listenComm, comm);
    this.trace?.write('accept', { channel, polls: this.#takePolls(listenComm) });
    return comm;
  }

  register(
    channel: ChannelSlot,
    comm: CommHandle,
    addr: Address,
    bytes: ByteCount,
    type: number,
  ): MemoryHandle {
    this.#order.beforeRegister(comm);
    const mhandle = this.#during('regMr', channel, () =>
      this.plugin.registerMemory(comm, addr, bytes, type),
    );
    this.#order.onRegistered(comm, mhandle);
    this.trace?.write('regMr', { channel, bytes, type, role: this.#role(comm) });
    return mhandle;
  }

  deregister(channel: ChannelSlot, comm: CommHandle, mhandle: MemoryHandle): void {
    this.#order.onDeregister(comm, mhandle);
    this.#during('deregMr', channel, () => this.plugin.deregisterMemory(comm, mhandle));
    this.trace?.write('deregMr', { channel, role: this.#role(comm) });
  }

  isend(
    channel: ChannelSlot,
    comm: CommHandle,
    addr: Address,
    mhandle: MemoryHandle,
    chunk: ChunkFacts,
  ): RequestHandle {
    this.#order.beforePost(comm, true, mhandle);
    this.#enter(CALL_ISEND, channel);
    const request = this.plugin.messages.isend(comm, addr, chunk.bytes, chunk.tag, mhandle);
    this.#leave();
    if (request > 0) this.#order.onPosted(comm, request);
    if (this.trace !== undefined) this.#traceChunk('isend', channel, chunk, Math.min(request, 0));
    return request;
  }

  irecv(
    channel: ChannelSlot,
    comm: CommHandle,
    addr: Address,
    mhandle: MemoryHandle,
    chunk: ChunkFacts,
  ): RequestHandle {
    this.#order.beforePost(comm, false, mhandle);
    this.#enter(CALL_IRECV, channel);
    const request = this.plugin.messages.irecv(comm, addr, chunk.bytes, chunk.tag, mhandle);
    this.#leave();
    if (request > 0) this.#order.onPosted(comm, request);
    if (this.trace !== undefined) this.#traceChunk('irecv', channel, chunk, Math.min(request, 0));
    return request;
  }

  /** As PluginCalls.test; only the oldest request of the comm. */
  test(channel: ChannelSlot, comm: CommHandle, request: RequestHandle, chunk: ChunkFacts): number {
    this.#order.beforeTest(comm, request);
    this.#enter(CALL_TEST, channel);
    const outcome = this.plugin.messages.test(request);
    this.#leave();
    if (outcome === TEST_PENDING) {
      if (this.trace !== undefined) this.#poll(comm);
      return outcome;
    }
    if (outcome > 0) this.#order.onDone(comm);
    if (this.trace !== undefined) {
      const more = { role: this.#role(comm), polls: this.#takePolls(comm) };
      this.#traceChunk('test', channel, chunk, outcome, more);
    }
    return outcome;
  }

  consumed(
    channel: ChannelSlot,
    comm: CommHandle,
    request: RequestHandle,
    chunk: ChunkFacts,
  ): number {
    this.#order.beforeConsume(comm, request);
    this.#enter(CALL_CONSUMED, channel);
    const result = this.plugin.messages.irecvConsumed(comm, request);
    this.#leave();
    if (this.trace !== undefined) this.#traceChunk('irecvConsumed', channel, chunk, result);
    return result;
  }

  closeSend(channel: ChannelSlot, comm: CommHandle): void {
    this.#order.onClose(comm, true);
    this.#during('closeSend', channel, () => this.plugin.closeSend(comm));
    this.trace?.write('closeSend', { channel });
  }

  closeReceive(channel: ChannelSlot, comm: CommHandle): void {
    this.#order.onClose(comm, false);
    this.#during('closeRecv', channel, () => this.plugin.closeReceive(comm));
    this.trace?.write('closeRecv', { channel });
  }

  closeListen(channel: ChannelSlot, listenComm: CommHandle): void {
    this.#order.onCloseListen(listenComm);
    this.#during('closeListen', channel, () => this.plugin.closeListen(listenComm));
    this.trace?.write('closeListen', { channel });
  }

  #role(comm: CommHandle): string {
    return this.#order.isSend(comm) ? 'send' : 'receive';
  }

  #during<T>(call: PluginCallName, channel: ChannelSlot, run: () => T): T {
    this.#enter(CALL_NUMBERS[call], channel);
    try {
      return run();
    } finally {
      this.#leave();
    }
  }

  #enter(call: number, channel: ChannelSlot): void {
    this.#words[WORD_CALL_CHANNEL] = channel;
    Atomics.store(this.#words, WORD_CALL, call);
  }

  #leave(): void {
    Atomics.store(this.#words, WORD_CALL, 0);
  }

  #poll(key: number): 0 {
    this.#polls.set(key, (this.#polls.get(key) ?? 0) + 1);
    return 0;
  }

  #takePolls(key: number): number {
    const polls = this.#polls.get(key) ?? 0;
    this.#polls.delete(key);
    return polls;
  }

  #traceChunk(
    call: string,
    channel: ChannelSlot,
    chunk: ChunkFacts,
    result: number,
    more: TraceFields = {},
  ): void {
    const { chunk: index, tag, bytes, offset } = chunk;
    this.trace?.write(call, { channel, chunk: index, tag, bytes, offset, result, ...more });
  }
}
