// Memory that a client has registered: how the service reaches it, and what has to be undone. What
// a client passes is hostile: a file that could become shorter is refused before it is mapped.

import { fstatSync } from 'node:fs';
import { TcpxError } from '../base/errors.js';
import type { MemoryWay } from '../base/service-layout.js';
import { GpuContext } from '../ffi/cuda/context.js';
import { deviceByPciAddress } from '../ffi/cuda/device.js';
import { openCudaDriver } from '../ffi/cuda/driver.js';
import { IpcMapping } from '../ffi/cuda/ipc.js';
import { mapMemory, unmapMemory } from '../ffi/libc/mapping.js';
import { cannotShrink } from '../ffi/libc/memory-file.js';
import type { Region } from '../memory/region.js';
import { type ClientEngine, keyOf } from './client-engine.js';
import type { RegisterWish } from './message-codec.js';

export interface ClientRegion {
  readonly region: Region;
  readonly key: string;
  readonly way: MemoryWay;
  /** Lets go of the mapping, after the region is closed. */
  release(): void;
}

const ADDRESS_MAX = 2 ** 47;

export class ClientMemory {
  readonly #engine: ClientEngine;
  /** Why host memory cannot be copied; empty where it can. */
  readonly #copyObstacle: string;
  readonly #regions = new Map<number, ClientRegion>();
  readonly #gpus = new ClientGpus();
  #lastId = 0;

  constructor(engine: ClientEngine, copyObstacle: string) {
    this.#engine = engine;
    this.#copyObstacle = copyObstacle;
  }

  /** The number of the registration; `fd` stays the caller's. */
  register(wish: RegisterWish, fd: number | undefined): { id: number; entry: ClientRegion } {
    if (wish.bytes < 1) throw new TcpxError('ERR_USAGE_ARGUMENT', 'register: 0 bytes');
    const entry = this.#open(wish, fd);
    const id = ++this.#lastId;
    this.#regions.set(id, entry);
    return { id, entry };
  }

  get(id: number): ClientRegion {
    const entry = this.#regions.get(id);
    if (entry !== undefined) return entry;
    throw new TcpxError('ERR_USAGE_NOT_FOUND', `memory ${id} is not registered`);
  }

  async deregister(id: number): Promise<void> {
    const entry = this.get(id);
    await this.#engine.deregister(entry.region);
    this.#regions.delete(id);
    entry.release();
  }

  /** The engine is closed: nothing touches the memory any more. */
  releaseAll(): void {
    for (const entry of this.#regions.values()) entry.release();
    this.#regions.clear();
    this.#gpus.close();
  }

  #open(wish: RegisterWish, fd: number | undefined): ClientRegion {
    switch (wish.way) {
      case 'copied':
        return this.#openCopied(wish);
      case 'shared':
        return this.#openShared(wish, fd);
      case 'ipc':
        return this.#openIpc(wish);
    }
  }

  #openCopied({ addr, bytes, rights }: RegisterWish): ClientRegion {
    if (this.#copyObstacle !== '') throw unreachable(this.#copyObstacle);
    if (addr < 1 || addr + bytes > ADDRESS_MAX) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', `register ${bytes} bytes at ${addr}: no address`);
    }
    const region = this.#engine.registerCopied(addr, bytes, rights);
    return { region, key: keyOf(region), way: 'copied', release: () => undefined };
  }

  #openShared({ bytes, offset, rights }: RegisterWish, fd: number | undefined): ClientRegion {
    if (fd === undefined) throw new TcpxError('ERR_WIRE_FRAME', 'REGISTER without a descriptor');
    const file = fstatSync(fd);
    if (!file.isFile()) throw unreachable('the descriptor is not of a file in memory');
    if (offset + bytes > file.size) {
      throw unreachable(`${offset} + ${bytes} bytes reach over the end of a file of ${file.size}`);
    }
    if (!cannotShrink(fd)) {
      throw unreachable('the file is not sealed against shrinking (F_SEAL_SHRINK)');
    }
    const mapping = mapMemory(offset + bytes, { fd, isReserveOnly: true });
    try {
      const source = { addr: mapping.addr + offset, bytes };
      const region = this.#engine.registerMapped(source, rights);
      const release = (): void => unmapMemory(mapping);
      return { region, key: keyOf(region), way: 'shared', release };
    } catch (error) {
      unmapMemory(mapping);
      throw error;
    }
  }

  #openIpc({ bytes, offset, rights, handle, pciAddress }: RegisterWish): ClientRegion {
    const opened = this.#gpus.open(pciAddress, handle);
    try {
      const source = { device: opened.device, addr: opened.baseAddr + offset, bytes };
      const region = this.#engine.registerMapped(source, rights);
      const release = (): void => this.#gpus.release(opened);
      return { region, key: keyOf(region), way: 'ipc', release };
    } catch (error) {
      this.#gpus.release(opened);
      throw error;
    }
  }
}

interface OpenedAllocation {
  readonly name: string;
  readonly device: number;
  readonly baseAddr: number;
  readonly mapping: IpcMapping;
  users: number;
}

/** Allocations that a client shares by CUDA IPC: each is opened once, however often it is used. */
class ClientGpus {
  readonly #contexts = new Map<number, GpuContext>();
  readonly #allocations = new Map<string, OpenedAllocation>();

  open(pciAddress: string, handle: Uint8Array): OpenedAllocation {
    const name = Buffer.from(handle).toString('hex');
    const known = this.#allocations.get(name);
    if (known !== undefined) {
      known.users++;
      return known;
    }
    const driver = openCudaDriver();
    const device = deviceByPciAddress(driver, pciAddress);
    const context = this.#contexts.get(device.ordinal) ?? new GpuContext(driver, device);
    this.#contexts.set(device.ordinal, context);
    context.makeCurrent();
    const mapping = new IpcMapping(context, handle);
    const { baseAddr } = mapping;
    const opened = { name, device: device.ordinal, baseAddr, mapping, users: 1 };
    this.#allocations.set(name, opened);
    return opened;
  }

  release(opened: OpenedAllocation): void {
    opened.users--;
    if (opened.users > 0) return;
    this.#allocations.delete(opened.name);
    this.#contexts.get(opened.device)?.makeCurrent();
    opened.mapping.close();
  }

  close(): void {
    for (const context of this.#contexts.values()) context.close();
    this.#contexts.clear();
  }
}

function unreachable(reason: string): TcpxError {
  return new TcpxError('ERR_CAP_CLIENT_MEMORY', `register: ${reason}`);
}
