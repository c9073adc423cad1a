// The grammar of NCCL_GPUDIRECTTCPX_TX_BINDINGS and _RX_BINDINGS: `eth1:8-21,112-125;eth2:…`.
// The plugin reads it in its own way; what it would skip, misread or die of is reported here as a
// pitfall instead of being repaired silently. Pure.

import { sortCpus } from './cpu-set.js';

/** The plugin keeps eight ranges per interface and does not check for a ninth. */
export const RANGES_PER_NIC_MAX = 8;

export interface NicBinding {
  readonly nic: string;
  /** In the order written: the plugin counts positions across ranges in this order. */
  readonly ranges: readonly (readonly [number, number])[];
}

export interface BindingPitfall {
  readonly severity: 'fatal' | 'wrong' | 'note';
  readonly nic: string;
  readonly text: string;
}

export interface ParsedBindings {
  readonly bindings: readonly NicBinding[];
  readonly pitfalls: readonly BindingPitfall[];
}

export interface BindingContext {
  /** Interfaces of the host; without them names are not checked. */
  readonly nics?: readonly string[];
  readonly possibleCount?: number;
}

export function parseBindings(text: string, context: BindingContext = {}): ParsedBindings {
  const bindings: NicBinding[] = [];
  const pitfalls: BindingPitfall[] = [];
  for (const part of text.split(';')) {
    if (part === '') continue;
    const colon = part.indexOf(':');
    const nic = colon < 0 ? part : part.slice(0, colon);
    const words = colon < 0 ? [] : part.slice(colon + 1).split(',');
    const ranges = words.flatMap((word) => readRange(nic, word, context, pitfalls));
    pitfalls.push(...partPitfalls(nic, ranges, bindings, context));
    bindings.push({ nic, ranges });
  }
  return { bindings, pitfalls };
}

function readRange(
  nic: string,
  word: string,
  context: BindingContext,
  pitfalls: BindingPitfall[],
): [number, number][] {
  const complain = (severity: BindingPitfall['severity'], text: string) => {
    pitfalls.push({ severity, nic, text });
    return [];
  };
  if (/^\d+$/.test(word)) {
    return complain(
      'wrong',
      `${word} is a bare core, which the plugin skips: write ${word}-${word}`,
    );
  }
  const match = /^(\d+)-(\d+)$/.exec(word);
  if (match === null) {
    return complain('wrong', `${JSON.stringify(word)} is not a range lo-hi and is skipped`);
  }
  const first = Number(match[1]);
  const end = Number(match[2]);
  if (first > end) return complain('wrong', `${word} runs backwards and holds no core`);
  if (context.possibleCount !== undefined && end >= context.possibleCount) {
    complain('wrong', `${word} names cores above the last one, ${context.possibleCount - 1}`);
  }
  return [[first, end]];
}

function partPitfalls(
  nic: string,
  ranges: NicBinding['ranges'],
  earlier: readonly NicBinding[],
  context: BindingContext,
): BindingPitfall[] {
  const found: BindingPitfall[] = [];
  const isKnown = context.nics?.includes(nic) ?? true;
  if (!isKnown) found.push({ severity: 'wrong', nic, text: 'no such interface: skipped' });
  if (ranges.length === 0) {
    const text = 'no valid range: the plugin divides by zero when its first thread starts';
    found.push({ severity: isKnown ? 'fatal' : 'wrong', nic, text });
  }
  if (ranges.length > RANGES_PER_NIC_MAX) {
    const text = `${ranges.length} ranges; the plugin has room for ${RANGES_PER_NIC_MAX} unchecked`;
    found.push({ severity: 'fatal', nic, text });
  }
  if (earlier.some((binding) => binding.nic === nic)) {
    found.push({ severity: 'wrong', nic, text: 'named twice' });
  }
  const cores = ranges.flatMap(([first, end]) => rangeCpus(first, end));
  if (new Set(cores).size < cores.length) {
    found.push({ severity: 'note', nic, text: 'ranges overlap: some cores count twice' });
  }
  return found;
}

/** Text that the plugin reads as meant: always ranges, also for one core. */
export function formatBindings(bindings: readonly NicBinding[]): string {
  return bindings
    .map(({ nic, ranges }) => `${nic}:${ranges.map(([a, b]) => `${a}-${b}`).join(',')}`)
    .join(';');
}

export function bindingOf(nic: string, cpus: readonly number[]): NicBinding {
  return { nic, ranges: cpuRanges(cpus) };
}

export function bindingCpus(binding: NicBinding): number[] {
  return sortCpus(new Set(binding.ranges.flatMap(([first, end]) => rangeCpus(first, end))));
}

export interface WorkerPlacement {
  /** Threads per connection, NCCL_SOCKET_NTHREADS. */
  readonly threads: number;
  readonly isPinned: boolean;
  readonly sprayCount: number;
  readonly sprayStride: number;
}

/**
 * Cores that the plugin gives to one helper thread: the whole set unless pinned, otherwise the core
 * at position (connection × threads + thread) mod cores, plus its sprays. Positions run across
 * ranges in the order written.
 */
export function workerCpus(
  binding: NicBinding,
  connectionIndex: number,
  threadIndex: number,
  placement: WorkerPlacement,
): number[] {
  const cores = binding.ranges.flatMap(([first, end]) => rangeCpus(first, end));
  if (!placement.isPinned || cores.length === 0) return sortCpus(new Set(cores));
  const position = connectionIndex * placement.threads + threadIndex;
  const picked: number[] = [];
  for (let spray = 0; spray <= placement.sprayCount; spray++) {
    picked.push(cores[(position + spray * placement.sprayStride) % cores.length] ?? 0);
  }
  return sortCpus(new Set(picked));
}

function rangeCpus(first: number, end: number): number[] {
  return Array.from({ length: Math.max(0, end - first + 1) }, (_, index) => first + index);
}

/** Ranges of consecutive CPUs, inclusive at both ends. */
function cpuRanges(cpus: readonly number[]): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (const cpu of cpus) {
    const current = ranges.at(-1);
    if (current !== undefined && cpu === current[1] + 1) current[1] = cpu;
    else ranges.push([cpu, cpu]);
  }
  return ranges;
}
