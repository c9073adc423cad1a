// Memory with a fixed address, seen by this thread through typed views. Other threads view the
// same bytes by address; the memory stays mapped until every thread has let go.

import type { Address, ByteCount } from '../base/quantity.js';
import { crc32At, loadCrc32 } from '../ffi/crc32.js';
import { viewMemory } from '../ffi/libc/library.js';
import {
  copyMemory,
  type MapOptions,
  mapMemory,
  unmapMemory,
  viewMapping,
} from '../ffi/libc/mapping.js';

export { copyMemory, crc32At, loadCrc32 };

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
}

export const mappedMemory: MemorySource = {
  create: createFixedMemory,
  destroy: destroyFixedMemory,
};

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
