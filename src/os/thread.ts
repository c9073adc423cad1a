// What a lane thread asks of the system for itself.

import { currentCpu, setThreadAffinity, yieldCpu } from '../ffi/libc/cpu-affinity.js';
import { writeByte } from '../ffi/libc/file-descriptor.js';
import { releaseScratch } from '../ffi/libc/scratch.js';

/** Pins the calling thread to `cpus` (none: leaves it) and returns the CPU it runs on. */
export function pinThread(cpus: readonly number[]): number {
  if (cpus.length > 0) setThreadAffinity(cpus);
  return currentCpu();
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
