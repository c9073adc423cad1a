// How fast the kernel copies between this process and another (process_vm_readv, …_writev), chunk
// by chunk through as much staging memory as a channel has: what copied memory of a service's
// client costs at each end.

import { assert } from '../../src/base/assert.js';
import { systemClock } from '../../src/base/clock.js';
import { mapMemory, unmapMemory } from '../../src/ffi/libc/mapping.js';
import { ProcessMoves } from '../../src/ffi/libc/process-memory.js';

export interface ProcessRange {
  readonly pid: number;
  readonly addr: number;
  readonly bytes: number;
}

const CHUNK_BYTES = 512 * 1024;
const STAGING_CHUNKS = 16;

/** In GB/s, of one pass over the range. */
export function processRateGBps(range: ProcessRange, direction: 'read' | 'write'): number {
  const { pid, addr, bytes } = range;
  const staging = mapMemory(CHUNK_BYTES * STAGING_CHUNKS);
  const moves = new ProcessMoves();
  try {
    const startUs = systemClock.nowUs();
    for (let offset = 0; offset < bytes; offset += CHUNK_BYTES) {
      const slot = (offset / CHUNK_BYTES) % STAGING_CHUNKS;
      const chunkBytes = Math.min(CHUNK_BYTES, bytes - offset);
      moves.add(staging.addr + slot * CHUNK_BYTES, addr + offset, chunkBytes);
      const missing = moves.move(pid, direction);
      assert(missing === 0, `process ${pid}: ${missing} of ${chunkBytes} bytes are missing`);
    }
    return bytes / (systemClock.nowUs() - startUs) / 1000;
  } finally {
    moves.close();
    unmapMemory(staging);
  }
}
