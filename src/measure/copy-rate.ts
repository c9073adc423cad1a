// How fast one core copies, in pieces as a kernel does: memory that no cache holds, and that one
// does.

import { copyMemory, createFixedMemory, destroyFixedMemory } from '../os/fixed-memory.js';

export const COLD_BYTES = 64 * 1024 * 1024;
export const WARM_BYTES = 128 * 1024;
const PIECE_BYTES = 64 * 1024;
const COPIED_BYTES = 4 * COLD_BYTES;

/** GB/s, that is 10^9 bytes, from one range of so many bytes to another. */
export function measureCopies(bytes: number): number {
  const memory = createFixedMemory(2 * bytes, { isPopulated: true });
  copyMemory(memory.addr + bytes, memory.addr, bytes);
  const beganMs = performance.now();
  for (let copied = 0; copied < COPIED_BYTES; copied += PIECE_BYTES) {
    const at = memory.addr + (copied % bytes);
    copyMemory(at + bytes, at, PIECE_BYTES);
  }
  const spentMs = performance.now() - beganMs;
  destroyFixedMemory(memory);
  return COPIED_BYTES / spentMs / 1e6;
}
