// Host memory of this process that plugin hosts can map, by its address: a region may be a part of
// an allocation.

import { allocateShared, type SharedMemory } from './shared-region.js';

export interface SharedPart {
  readonly memory: SharedMemory;
  /** Of the part, in the allocation. */
  readonly offset: number;
}

interface Known {
  readonly addr: number;
  readonly bytes: number;
  readonly path: string;
  /** The memory is unmapped when nobody has the buffer any more: knowing it must not keep it. */
  readonly buffer: WeakRef<ArrayBuffer>;
}

export class SharedAllocations {
  readonly #known = new Map<number, Known>();

  allocate(bytes: number): SharedMemory {
    const memory = allocateShared(bytes);
    const { addr, path, buffer } = memory;
    this.#known.set(addr, { addr, bytes, path, buffer: new WeakRef(buffer) });
    return memory;
  }

  /** The allocation that holds the whole range; undefined where none does. */
  find(addr: number, bytes: number): SharedPart | undefined {
    for (const known of this.#known.values()) {
      if (addr < known.addr || addr + bytes > known.addr + known.bytes) continue;
      const buffer = known.buffer.deref();
      if (buffer === undefined) {
        this.#known.delete(known.addr);
        continue;
      }
      const memory = { buffer, addr: known.addr, bytes: known.bytes, path: known.path };
      return { memory, offset: addr - known.addr };
    }
    return undefined;
  }
}
