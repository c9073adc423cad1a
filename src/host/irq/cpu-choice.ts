// CPU lists as people choose them (`8-21,112-125`, `0-N`, `all`), refused with the reason that the
// kernel would not give, and the set operations that plans need. Pure.

import { sortCpus } from '../../base/cpu-set.js';
import { TcpxError } from '../../base/errors.js';

/** Ascending, without repeats. */
export type CpuSet = readonly number[];

export interface CpuListOptions {
  /** CPUs the kernel can ever have; higher numbers are refused as the kernel refuses them. */
  readonly possibleCount?: number;
}

const CPU_NUMBER_MAX = 65_535;

export function cpuSet(cpus: Iterable<number>): CpuSet {
  return sortCpus(new Set(cpus));
}

/** Parses a CPU list; empty items are skipped, `N` is the last CPU and `all` every one. */
export function requireCpuList(text: string, options: CpuListOptions = {}): CpuSet {
  const last = options.possibleCount === undefined ? undefined : options.possibleCount - 1;
  const cpus: number[] = [];
  for (const item of text.trim().split(',')) {
    const word = item.trim();
    if (word !== '') cpus.push(...expandItem(word, last, text));
  }
  return cpuSet(cpus);
}

function expandItem(item: string, last: number | undefined, text: string): number[] {
  if (item === 'all' && last !== undefined) return range(0, last);
  const match = /^(\d+|N)(?:-(\d+|N)(?::(\d+)\/(\d+))?)?$/.exec(item);
  if (match === null) throw listError(text, `${JSON.stringify(item)} is not a CPU or a range`);
  const first = cpuNumber(match[1] ?? '', last, text);
  const end = match[2] === undefined ? first : cpuNumber(match[2], last, text);
  if (first > end) throw listError(text, `${item} runs backwards`);
  if (match[3] === undefined) return range(first, end);
  const used = Number(match[3]);
  const stride = Number(match[4]);
  if (stride === 0 || used > stride) throw listError(text, `${item} has an impossible stride`);
  return range(first, end).filter((cpu) => (cpu - first) % stride < used);
}

function cpuNumber(word: string, last: number | undefined, text: string): number {
  if (word === 'N') {
    if (last === undefined) throw listError(text, 'N needs a known number of CPUs');
    return last;
  }
  const cpu = Number(word);
  const max = last ?? CPU_NUMBER_MAX;
  if (cpu > max) throw listError(text, `CPU ${word} is above the last possible CPU ${max}`);
  return cpu;
}

function listError(text: string, reason: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `CPU list ${JSON.stringify(text)}: ${reason}`, {
    facts: { list: text },
  });
}

function range(first: number, end: number): number[] {
  return Array.from({ length: end - first + 1 }, (_, index) => first + index);
}

export function unionOf(...sets: readonly CpuSet[]): CpuSet {
  return cpuSet(sets.flat());
}

export function intersectionOf(left: CpuSet, right: CpuSet): CpuSet {
  const wanted = new Set(right);
  return left.filter((cpu) => wanted.has(cpu));
}

export function differenceOf(left: CpuSet, right: CpuSet): CpuSet {
  const unwanted = new Set(right);
  return left.filter((cpu) => !unwanted.has(cpu));
}

export function isSubset(inner: CpuSet, outer: CpuSet): boolean {
  return differenceOf(inner, outer).length === 0;
}

export function isSameSet(left: CpuSet, right: CpuSet): boolean {
  return left.length === right.length && left.every((cpu, index) => cpu === right[index]);
}
