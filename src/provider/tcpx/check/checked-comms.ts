// One connection of a plugin with itself, as the check uses it: both comms in one process, host
// memory at both ends, calls that may be wrong on purpose.

import { TcpxError } from '../../../base/errors.js';
import { viewMemory } from '../../../ffi/libc/library.js';
import { type Mapping, mapMemory, viewMapping } from '../../../ffi/libc/mapping.js';
import { type BoundCalls, bindCalls } from '../../../ffi/nccl-net/bound-calls.js';
import { type NetPlugin, POINTER_HOST } from '../../../ffi/nccl-net/net-plugin.js';

export const MESSAGE_BYTES = 8192;
const SLOTS = 20;
const UNTOUCHED = -7;
const AREA_BYTES = 4096;
const SLEEP_MS = 1;

export class CheckedComms {
  readonly plugin: NetPlugin;
  readonly calls: BoundCalls;
  /** Own handle, the peer's copy of it, the device struct. */
  readonly page = mapMemory(AREA_BYTES);
  readonly source = mapMemory(SLOTS * MESSAGE_BYTES);
  readonly target = mapMemory(SLOTS * MESSAGE_BYTES);
  listenComm = 0;
  sendComm = 0;
  receiveComm = 0;
  sendHandle = 0;
  receiveHandle = 0;
  readonly #arguments = mapMemory(AREA_BYTES);
  readonly #view: DataView;
  readonly #limitMs: number;
  readonly #done = new Set<number>();

  constructor(plugin: NetPlugin, limitMs: number) {
    this.plugin = plugin;
    this.calls = bindCalls(plugin.library);
    this.#view = new DataView(viewMapping(this.#arguments));
    this.#limitMs = limitMs;
    const bytes = this.bytes(this.source);
    for (let at = 0; at < bytes.length; at++) bytes[at] = (at * 31 + (at >> 13)) & 0xff;
  }

  get deviceAddr(): number {
    return this.page.addr + 512;
  }

  bytes(mapping: Mapping): Uint8Array {
    return new Uint8Array(viewMapping(mapping));
  }

  /** Polls until it gives something; undefined when the time is over. */
  until<T>(poll: () => T | undefined): T | undefined {
    const endMs = performance.now() + this.#limitMs;
    for (;;) {
      const found = poll();
      if (found !== undefined) return found;
      if (performance.now() >= endMs) return undefined;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SLEEP_MS);
    }
  }

  listen(dev: number): void {
    this.listenComm = this.plugin.listen(dev, this.page.addr);
  }

  /** Whether both comms came. */
  join(dev: number): boolean {
    const page = this.bytes(this.page);
    page.copyWithin(256, 0, 128);
    const isJoined = this.until(() => {
      if (this.sendComm === 0) this.sendComm = this.plugin.connect(dev, this.page.addr + 256);
      if (this.receiveComm === 0) {
        this.receiveComm = this.plugin.accept(this.listenComm, this.deviceAddr);
      }
      return this.sendComm !== 0 && this.receiveComm !== 0 ? true : undefined;
    });
    return isJoined === true;
  }

  register(): void {
    const { plugin, source, target } = this;
    this.sendHandle = plugin.registerMemory(this.sendComm, source.addr, source.bytes, POINTER_HOST);
    this.receiveHandle = plugin.registerMemory(
      this.receiveComm,
      target.addr,
      target.bytes,
      POINTER_HOST,
    );
  }

  /** A request, or a negative result. `count` other than 1 is wrong on purpose. */
  receive(slot: number, bytes: number, count = 1, handle = this.receiveHandle): number {
    const view = this.#view;
    const addr = this.#arguments.addr;
    for (let at = 0; at < 2; at++) {
      const target = this.target.addr + slot * MESSAGE_BYTES;
      view.setBigUint64(64 + at * 8, BigInt(target), true);
      view.setBigUint64(128 + at * 8, 0n, true);
      view.setBigUint64(192 + at * 8, BigInt(handle), true);
      view.setBigUint64(256 + at * 8, 0n, true);
    }
    // Lengths are 32 bits before v9, 64 bits since.
    const isWide = this.plugin.tableVersion >= 9;
    for (let at = 0; at < 2; at++) {
      if (isWide) view.setBigUint64(256 + at * 8, BigInt(bytes), true);
      else view.setInt32(256 + at * 4, bytes, true);
    }
    view.setBigUint64(0, 0n, true);
    const result = this.calls.irecv(
      this.receiveComm,
      count,
      addr + 64,
      addr + 256,
      addr + 128,
      addr + 192,
      addr,
    );
    return result === 0 ? Number(view.getBigUint64(0, true)) : -result;
  }

  send(slot: number, bytes: number): number {
    const addr = this.source.addr + slot * MESSAGE_BYTES;
    return this.plugin.messages.isend(this.sendComm, addr, bytes, 0, this.sendHandle);
  }

  /** As the call answers; `hasSize` when it wrote one. */
  test(request: number): { result: number; isDone: boolean; hasSize: boolean } {
    this.#view.setInt32(0, 0, true);
    this.#view.setInt32(8, UNTOUCHED, true);
    const { addr } = this.#arguments;
    const result = this.calls.test(request, addr, addr + 8);
    const isDone = this.#view.getInt32(0, true) !== 0;
    return { result, isDone, hasSize: this.#view.getInt32(8, true) !== UNTOUCHED };
  }

  consume(comm: number, request: number, count = 1): number {
    return this.calls.irecvConsumed(comm, count, request);
  }

  /** Tests it until it is done; throws on an error and when the time is over. */
  finish(request: number, beside?: number): void {
    let isBesideDone = beside === undefined;
    const isDone = this.until(() => {
      if (!isBesideDone && beside !== undefined) isBesideDone = this.step(beside);
      return this.step(request) && isBesideDone ? true : undefined;
    });
    if (isDone !== true) throw new TcpxError('ERR_NCCLNET_HUNG', 'a message did not finish');
  }

  /** One test; whether it is done. A request that is done must not be tested again. */
  step(request: number): boolean {
    if (this.#done.has(request)) return true;
    const { result, isDone } = this.test(request);
    if (result !== 0 && !isDone) {
      throw new TcpxError('ERR_NCCLNET_CALL', `test returned ${result}`);
    }
    if (isDone) this.#done.add(request);
    return isDone;
  }

  /** Its address will be used again. */
  forget(request: number): void {
    this.#done.delete(request);
  }

  requestField(request: number, offset: number): number {
    return new DataView(viewMemory(request, 128)).getInt32(offset, true);
  }
}
