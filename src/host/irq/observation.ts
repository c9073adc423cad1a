// What a diagnostics bundle saw: interrupts per line and CPU between its two /proc/interrupts
// snapshots, and how busy each CPU was. A bundle is a folder; missing parts are named, not guessed.

import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { TcpxError } from '../../base/errors.js';
import { parseInterrupts } from '../read/interrupts.js';

export interface Observation {
  readonly folder: string;
  /** Interrupts by IRQ and CPU. */
  readonly interrupts: ReadonlyMap<number, ReadonlyMap<number, number>>;
  /** Percent of time not idle, by CPU; empty when the bundle has no such file. */
  readonly busyPercent: ReadonlyMap<number, number>;
  /** Growth of rx_devmem_pkts by NIC; empty when the bundle has no NIC statistics. */
  readonly devmemPackets: ReadonlyMap<string, number>;
  readonly missing: readonly string[];
}

// Names as the collector writes them, and the plain copies of other tools: flat, or one folder per
// phase.
const BEFORE =
  /(^|\/)(irq_(snapshot_)?before[^/]*|interrupts[_-]before[^/]*|before\/.*interrupts)$/;
const AFTER = /(^|\/)(irq_(snapshot_)?after[^/]*|interrupts[_-]after[^/]*|after\/.*interrupts)$/;
const CPU_USE = /(^|\/)(cpu_usage|mpstat)[^/]*$/;
const NIC_BEFORE = /(^|\/)nic_(stats|info)_before[^/]*$/;
const NIC_AFTER = /(^|\/)nic_(stats|info)_after[^/]*$/;

export function readBundle(folder: string): Observation {
  const names = listBundle(folder);
  const missing: string[] = [];
  const text = (pattern: RegExp, what: string): string | undefined => {
    const name = names.find((candidate) => pattern.test(candidate));
    if (name === undefined) missing.push(what);
    return name === undefined ? undefined : readFileSync(join(folder, name), 'utf8');
  };
  const before = text(BEFORE, 'interrupts before (irq_before.txt)');
  const after = text(AFTER, 'interrupts after (irq_after.txt)');
  const cpuUse = text(CPU_USE, 'CPU use (cpu_usage_during.txt)');
  const nicBefore = text(NIC_BEFORE, 'NIC statistics before (nic_stats_before.txt)');
  const nicAfter = text(NIC_AFTER, 'NIC statistics after (nic_stats_after.txt)');
  return {
    folder,
    interrupts: interruptDelta(before, after),
    busyPercent: parseCpuUse(cpuUse ?? ''),
    devmemPackets: devmemDelta(nicBefore, nicAfter),
    missing,
  };
}

function listBundle(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .sort();
  } catch (error) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `bundle ${folder}: no such folder`, { cause: error });
  }
}

/** Between two snapshots; one alone tells the totals since boot, which is not a run. */
export function interruptDelta(
  before: string | undefined,
  after: string | undefined,
): ReadonlyMap<number, ReadonlyMap<number, number>> {
  const result = new Map<number, ReadonlyMap<number, number>>();
  if (before === undefined || after === undefined) return result;
  const earlier = new Map(parseInterrupts(before).rows.map((row) => [row.label, row.countByCpu]));
  for (const row of parseInterrupts(after).rows) {
    if (row.irq === undefined) continue;
    const old = earlier.get(row.label) ?? {};
    const grown = new Map<number, number>();
    for (const [cpu, count] of Object.entries(row.countByCpu)) {
      const delta = count - (old[Number(cpu)] ?? 0);
      if (delta > 0) grown.set(Number(cpu), delta);
    }
    result.set(row.irq, grown);
  }
  return result;
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

/** Growth of device-memory packets by NIC, from `=== eth1 ===` sections of driver statistics. */
export function devmemDelta(
  before: string | undefined,
  after: string | undefined,
): ReadonlyMap<string, number> {
  if (before === undefined || after === undefined) return new Map();
  const earlier = devmemCounts(before);
  const delta = [...devmemCounts(after)].map(
    ([nic, count]) => [nic, count - (earlier.get(nic) ?? 0)] as const,
  );
  return new Map(delta);
}

function devmemCounts(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  let nic = '';
  for (const line of text.split('\n')) {
    nic = /^=+ *(\S+?) *=+$/.exec(line.trim())?.[1] ?? nic;
    const match = /^\s*rx_devmem_pkts:\s*(\d+)/.exec(line);
    if (match?.[1] !== undefined && nic !== '') counts.set(nic, Number(match[1]));
  }
  return counts;
}
