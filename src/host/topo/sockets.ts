// Sockets with their CPUs and caches. Caches are those of the first core of a socket: cores of one
// socket are alike.

import { formatCpuList } from '../../base/cpu-set.js';
import { formatBytes } from '../../base/units.js';
import type { Cache, CpuModel } from '../read/model.js';

export interface TopologySocket {
  readonly id: number;
  readonly cpus: string;
  readonly caches: readonly TopologyCache[];
}

export interface TopologyCache {
  /** `L1d`, `L1i`, `L2`, `L3`. */
  readonly name: string;
  readonly sizeBytes: number;
  /** CPUs that share one of it; undefined where that could not be read. */
  readonly cpuCount: number | undefined;
}

/** Empty where an online CPU does not say in which socket it is. */
export function socketsOf({ cpus, caches }: CpuModel): readonly TopologySocket[] {
  const members = new Map<number, number[]>();
  for (const { id, isOnline, packageId } of cpus) {
    if (!isOnline) continue;
    if (packageId === undefined) return [];
    members.set(packageId, [...(members.get(packageId) ?? []), id]);
  }
  return [...members].map(([id, own]) => ({
    id,
    cpus: formatCpuList(own),
    caches: caches.filter(({ cpu }) => own.includes(cpu)).map(describeCache),
  }));
}

const LETTER = { Data: 'd', Instruction: 'i', Unified: '' } as const;

function describeCache({ level, type, sizeBytes, cpus }: Cache): TopologyCache {
  return { name: `L${level}${LETTER[type]}`, sizeBytes, cpuCount: cpus?.length };
}

/** Each kind of cache once: sockets of one host are alike in all but odd machines. */
export function cacheTexts({ caches }: CpuModel): readonly string[] {
  const sharers = new Map<string, number | undefined>();
  for (const cache of caches.map(describeCache)) {
    const text = `${cache.name} ${formatBytes(cache.sizeBytes)}`;
    sharers.set(text, sharers.get(text) ?? cache.cpuCount);
  }
  // By name: a cache that one CPU does not tell of keeps its place.
  return [...sharers]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([text, count]) => `${text} ${sharedText(count)}`);
}

export function sharedText(cpuCount: number | undefined): string {
  return cpuCount === 1 ? 'per CPU' : `per ${cpuCount ?? '?'} CPUs`;
}
