// What a diagnostics bundle saw of a run: interrupts per line and CPU between its two
// /proc/interrupts snapshots, device-memory packets per NIC, and how busy each CPU was. Missing
// parts are named, not guessed; a counter that fell or had no earlier value tells no growth.

import { parseInterrupts } from '../read/interrupts.js';
import {
  type BundleFiles,
  type BundlePart,
  bundleHostname,
  readBundleFiles,
  secondsBetween,
} from './bundle-files.js';

export interface Observation {
  readonly folder: string;
  /** The host as the bundle names it; undefined when it does not. */
  readonly hostname: string | undefined;
  /** Between the two interrupt snapshots; undefined when nothing tells. */
  readonly seconds: number | undefined;
  /** Interrupts by IRQ and CPU. */
  readonly interrupts: ReadonlyMap<number, ReadonlyMap<number, number>>;
  /** What the later snapshot says of each line, to be compared with the host. */
  readonly lines: ReadonlyMap<number, ObservedLine>;
  /** Lines whose counters fell in between: what they did is not known. */
  readonly resetIrqs: readonly number[];
  /** Percent of time not idle, by CPU; empty when the bundle has no such file. */
  readonly busyPercent: ReadonlyMap<number, number>;
  /** rx_devmem_pkts by NIC; empty when the bundle has no NIC statistics. */
  readonly devmem: ReadonlyMap<string, CounterGrowth>;
  /** PCI addresses of NICs, where the statistics name them. */
  readonly nicAddresses: ReadonlyMap<string, string>;
  /** All counters are lower after than before. */
  readonly isReversed: boolean;
  readonly missing: readonly string[];
}

export interface ObservedLine {
  readonly pciAddress: string | undefined;
  readonly vectorIndex: number | undefined;
  readonly actions: readonly string[];
}

/** A counter before and after a run; either may be absent. */
export interface CounterGrowth {
  readonly before: number | undefined;
  readonly after: number | undefined;
  /** undefined when it fell, or when one of the values is absent. */
  readonly grown: number | undefined;
}

const PART_NAMES: Readonly<Partial<Record<BundlePart, string>>> = {
  interruptsBefore: 'interrupts before (irq_before.txt)',
  interruptsAfter: 'interrupts after (irq_after.txt)',
  cpuUse: 'CPU use (cpu_usage_during.txt)',
  nicBefore: 'NIC statistics before (nic_stats_before.txt)',
  nicAfter: 'NIC statistics after (nic_stats_after.txt)',
};

export function readBundle(folder: string): Observation {
  return observe(folder, readBundleFiles(folder));
}

export function observe(folder: string, files: BundleFiles): Observation {
  const text = (part: BundlePart) => files.get(part)?.text;
  const { interrupts, resetIrqs } = interruptDelta(
    text('interruptsBefore'),
    text('interruptsAfter'),
  );
  const devmem = devmemGrowth(text('nicBefore'), text('nicAfter'));
  return {
    folder,
    hostname: bundleHostname(files),
    seconds: secondsBetween(files.get('interruptsBefore'), files.get('interruptsAfter')),
    interrupts,
    lines: observedLines(text('interruptsAfter') ?? ''),
    resetIrqs,
    busyPercent: parseCpuUse(text('cpuUse') ?? ''),
    devmem,
    nicAddresses: busAddresses(text('nicAfter') ?? text('nicBefore') ?? ''),
    isReversed: isReversed(interrupts, resetIrqs, devmem),
    missing: Object.entries(PART_NAMES)
      .filter(([part]) => !files.has(part as BundlePart))
      .map(([, name]) => name),
  };
}

export interface InterruptDelta {
  readonly interrupts: ReadonlyMap<number, ReadonlyMap<number, number>>;
  readonly resetIrqs: readonly number[];
}

/** Between two snapshots; one alone tells the totals since boot, which is not a run. */
export function interruptDelta(
  before: string | undefined,
  after: string | undefined,
): InterruptDelta {
  const interrupts = new Map<number, ReadonlyMap<number, number>>();
  const resetIrqs: number[] = [];
  if (before === undefined || after === undefined) return { interrupts, resetIrqs };
  const earlier = new Map(parseInterrupts(before).rows.map((row) => [row.label, row.countByCpu]));
  for (const row of parseInterrupts(after).rows) {
    if (row.irq === undefined) continue;
    // A line that appeared in between was requested then, and began at zero.
    const old = earlier.get(row.label) ?? {};
    if (hasFallen(old, row.countByCpu)) {
      resetIrqs.push(row.irq);
      continue;
    }
    const grown = new Map<number, number>();
    for (const [cpu, count] of Object.entries(row.countByCpu)) {
      const delta = count - (old[Number(cpu)] ?? 0);
      if (delta > 0) grown.set(Number(cpu), delta);
    }
    interrupts.set(row.irq, grown);
  }
  return { interrupts, resetIrqs };
}

// Zeros are left out of both: a CPU without an entry has the count zero.
function hasFallen(
  before: Readonly<Record<number, number>>,
  after: Readonly<Record<number, number>>,
): boolean {
  return Object.entries(before).some(([cpu, count]) => count > (after[Number(cpu)] ?? 0));
}

function observedLines(table: string): ReadonlyMap<number, ObservedLine> {
  const lines = new Map<number, ObservedLine>();
  for (const { irq, pciAddress, vectorIndex, actions } of parseInterrupts(table).rows) {
    if (irq !== undefined) lines.set(irq, { pciAddress, vectorIndex, actions });
  }
  return lines;
}

function isReversed(
  interrupts: InterruptDelta['interrupts'],
  resetIrqs: readonly number[],
  devmem: Observation['devmem'],
): boolean {
  const grewAny =
    [...interrupts.values()].some((byCpu) => byCpu.size > 0) ||
    [...devmem.values()].some(({ grown }) => (grown ?? 0) > 0);
  const fellAny =
    resetIrqs.length > 0 ||
    [...devmem.values()].some(({ before, after }) => (before ?? 0) > (after ?? Infinity));
  return fellAny && !grewAny;
}

/** mpstat's table: the averages at its end, else the mean of its samples. */
export function parseCpuUse(text: string): ReadonlyMap<number, number> {
  const samples = new Map<number, { sum: number; count: number; isAverage: boolean }>();
  let cpuColumn = -1;
  let idleColumn = -1;
  for (const line of text.split('\n')) {
    const words = line.trim().split(/\s+/);
    if (words.includes('%idle')) {
      cpuColumn = words.indexOf('CPU');
      idleColumn = words.indexOf('%idle');
      continue;
    }
    const cpu = words[cpuColumn] ?? '';
    const idle = Number(words[idleColumn]);
    if (!/^\d+$/.test(cpu) || Number.isNaN(idle)) continue;
    const isAverage = words[0] === 'Average:';
    const old = samples.get(Number(cpu));
    if (old?.isAverage === true && !isAverage) continue;
    const base = old === undefined || old.isAverage !== isAverage ? { sum: 0, count: 0 } : old;
    samples.set(Number(cpu), { sum: base.sum + 100 - idle, count: base.count + 1, isAverage });
  }
  return new Map([...samples].map(([cpu, { sum, count }]) => [cpu, sum / count]));
}

/** Device-memory packets by NIC, from `=== eth1 ===` sections of driver statistics. */
export function devmemGrowth(
  before: string | undefined,
  after: string | undefined,
): ReadonlyMap<string, CounterGrowth> {
  const earlier = devmemCounts(before ?? '');
  const later = devmemCounts(after ?? '');
  const nics = new Set([...earlier.keys(), ...later.keys()]);
  return new Map([...nics].map((nic) => [nic, growthOf(earlier.get(nic), later.get(nic))]));
}

function growthOf(before: number | undefined, after: number | undefined): CounterGrowth {
  const isKnown = before !== undefined && after !== undefined && after >= before;
  return { before, after, grown: isKnown ? after - before : undefined };
}

function devmemCounts(text: string): ReadonlyMap<string, number> {
  const counts = sectionValues(text, /^\s*rx_devmem_pkts:\s*(\d+)/);
  return new Map([...counts].map(([nic, count]) => [nic, Number(count)]));
}

function busAddresses(text: string): ReadonlyMap<string, string> {
  return sectionValues(text, /^\s*(?:bus-info|PCI):\s*([0-9a-f]{4,8}:[0-9a-f:.]+)\s*$/i);
}

/** The first group of the pattern's last match in each section. */
function sectionValues(text: string, pattern: RegExp): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  let nic = '';
  for (const line of text.split('\n')) {
    nic = /^=+ *(\S+?) *=+$/.exec(line.trim())?.[1] ?? nic;
    const value = pattern.exec(line)?.[1];
    if (value !== undefined && nic !== '') values.set(nic, value);
  }
  return values;
}
