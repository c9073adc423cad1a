// Kernel counters: softirqs, softnet, TCP, CPU time. Matched by name or CPU id, never by position:
// the set of names grows, and lines exist for online CPUs only.

import type { HostFiles } from './host-files.js';
import type { SoftirqTable, SoftnetCpu } from './model.js';

/** The header names the *possible* CPUs, unlike that of /proc/interrupts. */
export function parseSoftirqs(text: string): SoftirqTable {
  const [header = '', ...lines] = text.split('\n');
  const cpus = [...header.matchAll(/CPU(\d+)/g)].map((match) => Number(match[1]));
  const rows: Record<string, number[]> = {};
  for (const line of lines) {
    const [label, ...counts] = line.trim().split(/\s+/);
    if (label?.endsWith(':') === true) rows[label.slice(0, -1)] = counts.map(Number);
  }
  return { cpus, rows };
}

/** 13 hex columns on 6.1, 15 later; column 13 is the CPU, since offline ones have no line. */
export function parseSoftnetStat(text: string): SoftnetCpu[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line, lineIndex) => {
    const columns = line.trim().split(/\s+/);
    const column = (number: number) => Number.parseInt(columns[number - 1] ?? '0', 16);
    const hasCpu = columns.length >= 13;
    return {
      cpu: hasCpu ? column(13) : lineIndex,
      processed: column(1),
      dropped: column(2),
      timeSqueeze: column(3),
      receivedRps: column(10),
      flowLimitCount: column(11),
      backlogLength: columns.length >= 12 ? column(12) : undefined,
    };
  });
}

/** /proc/net/snmp and netstat: a line of names, then a line of values, under one prefix. */
export function parseNamedCounters(text: string, prefix: string): Record<string, number> {
  const counters: Record<string, number> = {};
  const lines = text.split('\n').filter((line) => line.startsWith(`${prefix}: `));
  for (let index = 0; index + 1 < lines.length; index += 2) {
    const names = (lines[index] ?? '').split(' ').slice(1);
    const values = (lines[index + 1] ?? '').split(' ').slice(1);
    for (const [position, name] of names.entries()) counters[name] = Number(values[position]);
  }
  return counters;
}

export function readTcpCounters(files: HostFiles): Record<string, number> {
  return {
    ...parseNamedCounters(files.read('/proc/net/snmp') ?? '', 'Tcp'),
    ...parseNamedCounters(files.read('/proc/net/netstat') ?? '', 'TcpExt'),
  };
}

const NET_DEV_COLUMNS: readonly (readonly [number, string])[] = [
  [0, 'rx_bytes'],
  [1, 'rx_packets'],
  [3, 'rx_dropped'],
  [8, 'tx_bytes'],
  [9, 'tx_packets'],
  [11, 'tx_dropped'],
];

/** /proc/net/dev: totals of every interface in the namespace of the reading process. */
export function parseNetDev(text: string): Map<string, Record<string, number>> {
  const interfaces = new Map<string, Record<string, number>>();
  for (const line of text.split('\n').slice(2)) {
    // No blank need follow the colon; names may contain one (aliases).
    const colon = line.lastIndexOf(':');
    if (colon < 0) continue;
    const columns = line
      .slice(colon + 1)
      .trim()
      .split(/\s+/)
      .map(Number);
    const totals = NET_DEV_COLUMNS.map(([column, name]) => [name, columns[column] ?? 0]);
    interfaces.set(
      line.slice(0, colon).trim(),
      Object.fromEntries(totals) as Record<string, number>,
    );
  }
  return interfaces;
}

export interface CpuTimes {
  readonly cpu: number;
  readonly busyTicks: number;
  readonly irqTicks: number;
  readonly softirqTicks: number;
  /** Wanted, and given to another virtual machine. */
  readonly stealTicks: number;
  readonly totalTicks: number;
}

/** The `cpuN` lines of /proc/stat, in ticks of 10 ms: too coarse below about 100 ms. */
export function parseCpuTimes(text: string): CpuTimes[] {
  const times: CpuTimes[] = [];
  for (const line of text.split('\n')) {
    if (!line.startsWith('cpu')) break;
    const match = /^cpu(\d+) (.+)$/.exec(line);
    if (match === null) continue;
    // user nice system idle iowait irq softirq steal; guest time is inside user already.
    const fields = (match[2] ?? '').split(' ').slice(0, 8).map(Number);
    const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] =
      fields;
    const busyTicks = user + nice + system + irq + softirq + steal;
    times.push({
      cpu: Number(match[1]),
      busyTicks,
      irqTicks: irq,
      softirqTicks: softirq,
      stealTicks: steal,
      totalTicks: busyTicks + idle + iowait,
    });
  }
  return times;
}
