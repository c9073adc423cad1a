// Memory that a client has registered: how the service reaches it, and what has to be undone. What
// a client passes is hostile: a file that could become shorter is refused before it is mapped.

import { assert } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import type { MemoryWay } from '../base/service-layout.js';
import { mapMemory, unmapMemory } from '../ffi/libc/mapping.js';
import { settledBytes } from '../ffi/libc/memory-file.js';
import type { Region } from '../memory/region.js';
import { type ClientEngine, keyOf } from './client-engine.js';
import { ClientFiles } from './client-files.js';
import { ClientGpus } from './client-gpus.js';
import { quota } from './client-peers.js';
import type { RegisterWish } from './message-codec.js';

export interface ClientRegion {
  readonly region: Region;
  readonly key: string;
  readonly way: MemoryWay;
  /** Lets go of the mapping, after the region is closed. */
  release(): void;
}

export interface ClientMemoryTerms {
  /** Why host memory cannot be copied; empty where it can. */
  readonly copyObstacle: string;
  /** Why files of a client are not mapped; empty where they are. */
  readonly shareObstacle: string;
  readonly regionsMax: number;
}

const ADDRESS_MAX = 2 ** 47;

export class ClientMemory {
  readonly #engine: ClientEngine;
  readonly #terms: ClientMemoryTerms;
  readonly #regions = new Map<number, ClientRegion>();
  readonly #ways = new WeakMap<Region, MemoryWay>();
  readonly #files = new ClientFiles();
  readonly #gpus = new ClientGpus();
  #lastId = 0;

  constructor(engine: ClientEngine, terms: ClientMemoryTerms) {
    this.#engine = engine;
    this.#terms = terms;
  }

  /** The number of the registration; descriptors stay the caller's. */
  register(wish: RegisterWish, fds: readonly number[]): { id: number; entry: ClientRegion } {
    if (wish.bytes < 1) throw new TcpxError('ERR_USAGE_ARGUMENT', 'register: 0 bytes');
    const { regionsMax } = this.#terms;
    if (this.#regions.size >= regionsMax) {
      throw quota('register', 'memory.regionsMax', regionsMax);
    }
    const entry = this.#open(wish, fds);
    const id = ++this.#lastId;
    this.#regions.set(id, entry);
    this.#ways.set(entry.region, entry.way);
    return { id, entry };
  }

  get(id: number): ClientRegion {
    const entry = this.#regions.get(id);
    if (entry !== undefined) return entry;
    throw new TcpxError('ERR_USAGE_NOT_FOUND', `memory ${id} is not registered`);
  }

  wayOf(region: Region): MemoryWay {
    const way = this.#ways.get(region);
    assert(way !== undefined, 'a region of a client was registered here');
    return way;
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

  #open(wish: RegisterWish, fds: readonly number[]): ClientRegion {
    switch (wish.way) {
      case 'copied':
        return this.#openCopied(wish);
      case 'shared':
        return this.#openShared(wish, fds[0]);
      case 'ipc':
      case 'vmm':
      case 'pool':
        return this.#openDevice(wish, fds);
    }
  }

  #openCopied({ addr, bytes, rights }: RegisterWish): ClientRegion {
    const { copyObstacle } = this.#terms;
    if (copyObstacle !== '') throw unreachable(copyObstacle);
    if (addr < 1 || addr + bytes > ADDRESS_MAX) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', `register ${bytes} bytes at ${addr}: no address`);
    }
    const region = this.#engine.registerCopied(addr, bytes, rights);
    return { region, key: keyOf(region), way: 'copied', release: () => undefined };
  }

  #openShared({ bytes, offset, rights }: RegisterWish, fd: number | undefined): ClientRegion {
    if (fd === undefined) throw new TcpxError('ERR_WIRE_FRAME', 'REGISTER without a descriptor');
    const { shareObstacle } = this.#terms;
    if (shareObstacle !== '') throw unreachable(shareObstacle);
    const fileBytes = settledBytes(fd);
    if (typeof fileBytes === 'string') throw unreachable(fileBytes);
    if (offset + bytes > fileBytes) {
      throw unreachable(`${offset} + ${bytes} bytes reach over the end of a file of ${fileBytes}`);
    }
    const mapping = mapMemory(offset + bytes, { fd, isReserveOnly: true });
    try {
      const source = { addr: mapping.addr + offset, bytes };
      const share = () => this.#files.share(fd, offset, bytes);
      const region = this.#engine.registerMapped(source, rights, share);
      const release = (): void => unmapMemory(mapping);
      return { region, key: keyOf(region), way: 'shared', release };
    } catch (error) {
      unmapMemory(mapping);
      throw error;
    }
  }

  #openDevice(wish: RegisterWish, fds: readonly number[]): ClientRegion {
    const { way, bytes, offset, rights } = wish;
    const opened = this.#gpus.open(wish, fds);
    try {
      if (offset + bytes > opened.bytes) {
        const room = opened.bytes === 0 ? 'unknown length' : `${opened.bytes}`;
        throw unreachable(`${offset} + ${bytes} bytes reach over a GPU allocation of ${room}`);
      }
      const source = { device: opened.device, addr: opened.baseAddr + offset, bytes };
      const share = () => this.#gpus.share(opened, wish, fds);
      const region = this.#engine.registerMapped(source, rights, share);
      const release = (): void => this.#gpus.release(opened);
      return { region, key: keyOf(region), way, release };
    } catch (error) {
      this.#gpus.release(opened);
      throw error;
    }
  }
}

function unreachable(reason: string): TcpxError {
  return new TcpxError('ERR_CAP_CLIENT_MEMORY', `register: ${reason}`);
}
