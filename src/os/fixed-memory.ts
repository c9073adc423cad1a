// Memory with a fixed address, seen by this thread through typed views. Other threads view the
// same bytes by address; the memory stays mapped until every thread has let go.

import { assert } from '../base/assert.js';
import type { Address, ByteCount } from '../base/quantity.js';
import { crc32At, loadCrc32 } from '../ffi/crc32.js';
import { viewMemory } from '../ffi/libc/library.js';
import {
  copyMemory,
  dropPages,
  type MapOptions,
  mapMemory,
  unmapMemory,
  viewMapping,
} from '../ffi/libc/mapping.js';

import { preferNodeForRange } from '../ffi/libc/memory-policy.js';
import { type Copy, pastCacheCode, pastCacheCopy, unmapPastCache } from '../ffi/past-cache.js';

export { type Copy, copyMemory, crc32At, loadCrc32, pastCacheCode, pastCacheCopy, unmapPastCache };

export interface FixedMemory {
  readonly addr: Address;
  readonly bytes: ByteCount;
  readonly uint8: Uint8Array<ArrayBuffer>;
  readonly int32: Int32Array<ArrayBuffer>;
  readonly uint32: Uint32Array<ArrayBuffer>;
  readonly float64: Float64Array<ArrayBuffer>;
}

const PAGE_BYTES = 4096;

export function createFixedMemory(bytes: number, options: MapOptions = {}): FixedMemory {
  const mapping = mapMemory(Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES, options);
  return viewsOver(mapping.addr, mapping.bytes, viewMapping(mapping));
}

/** Whole pages of it that nobody has touched yet shall lie on this NUMA node; a wish. */
export function placeFixedMemory(memory: FixedMemory, at: number, bytes: number, node: number) {
  preferNodeForRange(memory.addr + at, bytes, node);
}

/** The same memory as another thread mapped. */
export function openFixedMemory(addr: Address, bytes: ByteCount): FixedMemory {
  return viewsOver(addr, bytes, viewMemory(addr, bytes));
}

/** After this call no thread may touch a view of the memory. */
export function destroyFixedMemory(memory: FixedMemory): void {
  unmapMemory({ addr: memory.addr, bytes: memory.bytes });
}

/** Where memory with a fixed address comes from, and goes. */
export interface MemorySource {
  create(bytes: number, options?: MapOptions): FixedMemory;
  destroy(memory: FixedMemory): void;
  /** Nothing of it is in use any more. */
  end?(): void;
}

export const mappedMemory: MemorySource = {
  create: createFixedMemory,
  destroy: destroyFixedMemory,
};

/** So many of a kind wait with their pages: to drop them and fault them in anew takes longer. */
const WARM_MAX = 8;

/**
 * Mappings and views that are given back wait for the next who asks for the same. What was written
 * there may be there still. Node frees what
 * it knows of a view in a turn of the thread's event loop, and a lane has none: each new view would
 * cost some 250 bytes for as long as the lane lives.
 */
export class ReusedMemory implements MemorySource {
  /** By length and place. */
  readonly #spare = new Map<string, FixedMemory[]>();
  readonly #kinds = new Map<FixedMemory, string>();

  create(bytes: number, options: MapOptions = {}): FixedMemory {
    const kind = JSON.stringify([Math.ceil(bytes / PAGE_BYTES), options]);
    const memory = this.#spare.get(kind)?.pop() ?? createFixedMemory(bytes, options);
    this.#kinds.set(memory, kind);
    return memory;
  }

  destroy(memory: FixedMemory): void {
    const kind = this.#kinds.get(memory);
    assert(kind !== undefined, 'the memory is of this source, and in use');
    this.#kinds.delete(memory);
    const spare = this.#spare.get(kind) ?? [];
    this.#spare.set(kind, spare);
    if (spare.length < WARM_MAX || dropPages(memory)) spare.push(memory);
    else destroyFixedMemory(memory);
  }

  end(): void {
    for (const spare of this.#spare.values()) spare.forEach(destroyFixedMemory);
    this.#spare.clear();
  }
}

function viewsOver(addr: Address, bytes: ByteCount, buffer: ArrayBuffer): FixedMemory {
  return {
    addr,
    bytes,
    uint8: new Uint8Array(buffer),
    int32: new Int32Array(buffer),
    uint32: new Uint32Array(buffer),
    float64: new Float64Array(buffer),
  };
}
