// Where the calling thread may run and where it runs now.

import { bindFunction, checkCall, resultOrErrno } from './library.js';
import { scratchAddr, scratchBytes } from './scratch.js';

const MASK_BYTES = 1024;

const setC = bindFunction<(pid: number, bytes: number, mask: number) => number>(
  'int sched_setaffinity(int pid, size_t bytes, uintptr_t mask)',
);
const getC = bindFunction<(pid: number, bytes: number, mask: number) => number>(
  'int sched_getaffinity(int pid, size_t bytes, uintptr_t mask)',
);
const yieldC = bindFunction<() => number>('int sched_yield()');
const getCpuC = bindFunction<() => number>('int sched_getcpu()');

/** Pins the calling thread. A set with no online CPU fails with EINVAL. */
export function setThreadAffinity(cpus: readonly number[]): void {
  scratchBytes.fill(0, 0, MASK_BYTES);
  for (const cpu of cpus) {
    const byteIndex = cpu >> 3;
    scratchBytes[byteIndex] = (scratchBytes[byteIndex] ?? 0) | (1 << (cpu & 7));
  }
  const result = resultOrErrno(setC(0, MASK_BYTES, scratchAddr));
  checkCall('sched_setaffinity', `cpus ${cpus.join(',')}`, result);
}

/** CPUs that the thread (0: the calling one) may use, ascending. */
export function getThreadAffinity(threadId = 0): number[] {
  scratchBytes.fill(0, 0, MASK_BYTES);
  const result = resultOrErrno(getC(threadId, MASK_BYTES, scratchAddr));
  checkCall('sched_getaffinity', `thread ${threadId}`, result);
  const cpus: number[] = [];
  for (let cpu = 0; cpu < MASK_BYTES * 8; cpu++) {
    if (((scratchBytes[cpu >> 3] ?? 0) & (1 << (cpu & 7))) !== 0) cpus.push(cpu);
  }
  return cpus;
}

/** CPU on which the calling thread runs at this moment. */
export function currentCpu(): number {
  return checkCall('sched_getcpu', '', resultOrErrno(getCpuC()));
}

/** Lets another runnable thread of this CPU go first; returns at once where there is none. */
export function yieldCpu(): void {
  yieldC();
}
