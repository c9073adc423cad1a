// What a lane thread asks of the system for itself.

import {
  currentCpu,
  getThreadAffinity,
  setThreadAffinity,
  yieldCpu,
} from '../ffi/libc/cpu-affinity.js';
import { writeByte } from '../ffi/libc/file-descriptor.js';
import { mapMemory, unmapMemory, viewMapping } from '../ffi/libc/mapping.js';
import { nodeOfPage, preferNodeForThread } from '../ffi/libc/memory-policy.js';
import { releaseScratch } from '../ffi/libc/scratch.js';

const PAGE_BYTES = 4096;

/** Pins the calling thread to `cpus` (none: leaves it) and returns the CPU it runs on. */
export function pinThread(cpus: readonly number[]): number {
  if (cpus.length > 0) setThreadAffinity(cpus);
  return currentCpu();
}

/**
 * From now on what the calling thread touches first lies on this NUMA node, where that has room.
 * Returns the node on which a fresh page came to lie; undefined where the kernel declines.
 */
export function preferNode(node: number): number | undefined {
  if (!preferNodeForThread(node)) return undefined;
  const page = mapMemory(PAGE_BYTES);
  new Uint8Array(viewMapping(page))[0] = 1;
  const seen = nodeOfPage(page.addr);
  unmapMemory(page);
  return seen;
}

/** CPUs on which this process may run. */
export function allowedCpus(): readonly number[] {
  return getThreadAffinity();
}

/** Wakes the thread that reads the other end of a pipe. A full pipe has woken it already. */
export function wakeThread(pipeFd: number): void {
  writeByte(pipeFd);
}

/** The last thing that a thread does: what its system calls needed is given back. */
export function endThread(): void {
  releaseScratch();
}

export { currentCpu, yieldCpu };
