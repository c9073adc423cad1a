// A few pages of fixed memory per thread for arguments that C takes by pointer. Contents are valid
// only until the next wrapper call of the same thread.

import { assert } from '../../base/assert.js';
import { mapMemory, unmapMemory, viewMapping } from './mapping.js';

export const SCRATCH_BYTES = 64 * 1024;

const mapping = mapMemory(SCRATCH_BYTES, { isLow: true });
const buffer = viewMapping(mapping);

export const scratchAddr = mapping.addr;
export const scratchView = new DataView(buffer);
export const scratchBytes = new Uint8Array(buffer);

/** For a thread that ends: it may call no wrapper afterwards. */
export function releaseScratch(): void {
  unmapMemory(mapping);
}

/** Writes a NUL-terminated string and returns its length without the NUL. */
export function writeScratchString(offset: number, text: string): number {
  const encoded = new TextEncoder().encode(text);
  assert(offset + encoded.length < SCRATCH_BYTES, 'string fits in scratch memory');
  scratchBytes.set(encoded, offset);
  scratchBytes[offset + encoded.length] = 0;
  return encoded.length;
}
