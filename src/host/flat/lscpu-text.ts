// What lscpu prints: CPUs, nodes, threads per core. Its summary does not say which CPUs are threads
// of one core; where node ranges leave one answer only, that is given as inferred. Pure.

import { at } from '../../base/assert.js';
import { parseCpuList } from '../../base/cpu-set.js';
import { type LscpuCache, parseLscpuCaches } from './lscpu-sockets.js';

export interface LscpuFacts {
  readonly modelName: string | undefined;
  readonly online: readonly number[] | undefined;
  readonly offline: readonly number[];
  readonly threadsPerCore: number | undefined;
  readonly coresPerSocket: number | undefined;
  readonly sockets: number | undefined;
  /** Those of which the size of one is told. */
  readonly caches: readonly LscpuCache[];
  readonly nodes: readonly { readonly id: number; readonly cpus: readonly number[] }[];
}

export function parseLscpu(text: string): LscpuFacts {
  const fields = new Map<string, string>();
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) fields.set(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
  }
  const number = (name: string) => {
    const value = fields.get(name);
    return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
  };
  const list = (name: string) => {
    const value = fields.get(name);
    return value === undefined || value === '' ? undefined : parseCpuList(value);
  };
  const nodes = [...fields.keys()].flatMap((name) => {
    const id = /^NUMA node(\d+) CPU\(s\)$/.exec(name)?.[1];
    const cpus = list(name);
    return id === undefined || cpus === undefined ? [] : [{ id: Number(id), cpus }];
  });
  return {
    modelName: fields.get('Model name'),
    online: list('On-line CPU(s) list'),
    offline: list('Off-line CPU(s) list') ?? [],
    threadsPerCore: number('Thread(s) per core'),
    coresPerSocket: number('Core(s) per socket'),
    sockets: number('Socket(s)'),
    caches: parseLscpuCaches(text),
    nodes: nodes.sort((a, b) => a.id - b.id),
  };
}

export interface InferredSiblings {
  /** CPUs of one core, this CPU included. */
  readonly siblingsOf: ReadonlyMap<number, readonly number[]>;
  readonly reason: string;
}

/**
 * One thread per core: every CPU is a core. Two, and every node consists of two ranges as long as
 * each other (`0-51,104-155`): the kernel numbers all first threads, then all second ones, so the
 * n-th of one range and the n-th of the other are a core. Anything else stays unknown.
 */
export function inferSiblings(facts: LscpuFacts): InferredSiblings | undefined {
  const { online, threadsPerCore, nodes } = facts;
  if (online === undefined || facts.offline.length > 0) return undefined;
  if (threadsPerCore === 1) {
    const siblingsOf = new Map(online.map((cpu) => [cpu, [cpu]]));
    return { siblingsOf, reason: 'lscpu: one thread per core' };
  }
  const cores = (facts.coresPerSocket ?? Number.NaN) * (facts.sockets ?? Number.NaN);
  if (threadsPerCore !== 2 || online.length !== 2 * cores || nodes.length === 0) return undefined;
  const pairs = nodes.map(({ cpus }) => pairRanges(cpus));
  if (pairs.includes(undefined)) return undefined;
  const siblingsOf = new Map<number, readonly number[]>();
  const strides = new Set<number>();
  for (const [cpu, other] of pairs.flatMap((ofNode) => ofNode ?? [])) {
    strides.add(other - cpu);
    siblingsOf.set(cpu, [cpu, other]);
    siblingsOf.set(other, [cpu, other]);
  }
  if (strides.size !== 1 || siblingsOf.size !== online.length) return undefined;
  const reason =
    `lscpu does not say which CPUs share a core; c and c+${cores} are taken from its node ` +
    'ranges and its count of threads';
  return strides.has(cores) ? { siblingsOf, reason } : undefined;
}

/** The n-th CPUs of two ranges that are as long as each other; undefined for anything else. */
function pairRanges(cpus: readonly number[]): (readonly [number, number])[] | undefined {
  const ranges = rangesOf(cpus);
  const [first, second] = ranges;
  if (first === undefined || second === undefined || ranges.length !== 2) return undefined;
  if (first.length !== second.length) return undefined;
  return first.map((cpu, index) => [cpu, at(second, index)] as const);
}

function rangesOf(cpus: readonly number[]): number[][] {
  const ranges: number[][] = [];
  for (const cpu of cpus) {
    const range = ranges.at(-1);
    if (range?.at(-1) === cpu - 1) range.push(cpu);
    else ranges.push([cpu]);
  }
  return ranges;
}
