// Sockets and caches as lscpu's summary gives them: counts and sums. Which CPUs a socket has, and
// how large one cache is, follows only where the counts leave one answer. Pure.

import type { LscpuFacts } from './lscpu-text.js';

/** CPUs of each socket; undefined where nodes and sockets do not coincide. */
export function inferSockets(facts: LscpuFacts): readonly (readonly number[])[] | undefined {
  const { sockets, coresPerSocket, threadsPerCore, online, nodes } = facts;
  if (sockets === 1) return online && [online];
  const size = (coresPerSocket ?? Number.NaN) * (threadsPerCore ?? Number.NaN);
  const isAlike = nodes.length === sockets && nodes.every(({ cpus }) => cpus.length === size);
  return isAlike ? nodes.map(({ cpus }) => cpus) : undefined;
}

export interface LscpuCache {
  readonly level: number;
  readonly type: 'Data' | 'Instruction' | 'Unified';
  readonly sizeKib: number;
  readonly instances: number;
}

const TYPES = { d: 'Data', i: 'Instruction', '': 'Unified' } as const;
const KIB = { KiB: 1, MiB: 1024, GiB: 1024 ** 2 } as const;

/** `L3 cache: 210 MiB (2 instances)`; a sum that lscpu rounded tells no size of one. */
export function parseLscpuCaches(text: string): readonly LscpuCache[] {
  const lines = text.matchAll(
    /^L(\d)([di]?) cache:\s+(\d+) (KiB|MiB|GiB) \((\d+) instances?\)\s*$/gm,
  );
  return [...lines].flatMap(([, level, letter = '', sum, unit = 'KiB', count]) => {
    const instances = Number(count);
    const sizeKib = (Number(sum) * KIB[unit as keyof typeof KIB]) / instances;
    if (!Number.isInteger(sizeKib)) return [];
    return [
      { level: Number(level), type: TYPES[letter as keyof typeof TYPES], sizeKib, instances },
    ];
  });
}
