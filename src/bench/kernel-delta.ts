// What the kernel counted while a benchmark ran: TCP's troubles and each interface, of the whole
// host, and the connection of each channel.

import { loadavg } from 'node:os';
import type { ChannelCounters } from '../engine/internal.js';
import { openFolderFiles } from '../host/read/host-files.js';
import {
  type CpuTimes,
  parseCpuTimes,
  parseNetDev,
  readTcpCounters,
} from '../host/read/kernel-counters.js';
import type { BenchResult, ChannelKernel, KernelDelta } from './bench-result.js';
import { pairCounts, readInterruptCounts } from './interrupt-counts.js';

/** Counters that grow when something goes wrong on the way. */
const TCP_COUNTERS = [
  'RetransSegs',
  'InErrs',
  'TCPTimeouts',
  'TCPLossProbes',
  'TCPBacklogDrop',
  'TCPRcvQDrop',
  'TCPZeroWindowDrop',
] as const;

interface KernelCounters {
  readonly tcp: Readonly<Record<string, number>>;
  readonly nics: ReadonlyMap<string, Readonly<Record<string, number>>>;
  readonly interrupts: ReturnType<typeof readInterruptCounts>;
  readonly load: number;
  readonly cpus: readonly CpuTimes[];
}

export function readKernelCounters(): KernelCounters {
  const files = openFolderFiles('/');
  return {
    tcp: readTcpCounters(files),
    nics: parseNetDev(files.read('/proc/net/dev') ?? ''),
    interrupts: readInterruptCounts(files),
    load: loadavg()[0] ?? Number.NaN,
    cpus: parseCpuTimes(files.read('/proc/stat') ?? ''),
  };
}

/** Counters that grow; the others are as they stand. */
const GROWING = [
  'retransmits',
  'bytesAcked',
  'bytesReceived',
  'busyUs',
  'receiveLimitedUs',
  'sendBufferLimitedUs',
] as const;

/** A connection that came during the run has counted from 0. */
export function channelDelta(
  before: readonly ChannelCounters[],
  after: readonly ChannelCounters[],
): ChannelKernel[] {
  return after.map(({ epoch, ...now }) => {
    const old = before.find((one) => one.channel === now.channel && one.epoch === epoch);
    const grown = GROWING.map((name) => [
      name,
      now[name] < 0 ? -1 : now[name] - (old?.[name] ?? 0),
    ]);
    return {
      ...now,
      ...(Object.fromEntries(grown) as Pick<ChannelKernel, (typeof GROWING)[number]>),
    };
  });
}

/** Interfaces on which nothing moved are left out. */
export function kernelDelta(
  before: Pick<KernelCounters, 'tcp' | 'nics'>,
  after: Pick<KernelCounters, 'tcp' | 'nics'>,
): Omit<KernelDelta, 'channels' | 'peerChannels'> {
  // A counter that the kernel does not have is absent, not zero.
  const tcp = TCP_COUNTERS.flatMap((name) => {
    const [old, now] = [before.tcp[name], after.tcp[name]];
    return old === undefined || now === undefined ? [] : [[name, now - old] as const];
  });
  const nics: Record<string, Record<string, number>> = {};
  for (const [nic, counters] of after.nics) {
    const old = before.nics.get(nic) ?? {};
    const grown = Object.entries(counters).map(([name, count]) => [name, count - (old[name] ?? 0)]);
    if (grown.some(([, count]) => count !== 0)) nics[nic] = Object.fromEntries(grown) as never;
  }
  return { tcp: Object.fromEntries(tcp), nics };
}

/** What else of the host goes with a result: interrupts by core, and how busy it was. */
export function hostDelta(
  before: Pick<KernelCounters, 'interrupts' | 'load' | 'cpus'>,
  after: Pick<KernelCounters, 'interrupts' | 'load' | 'cpus'>,
): Required<Pick<BenchResult, 'interrupts' | 'load'>> {
  return {
    interrupts: pairCounts(before.interrupts, after.interrupts),
    load: { before: before.load, after: after.load, ...stolenPart(before.cpus, after.cpus) },
  };
}

/** Ticks are of 10 ms: of a few of them no part can be told. */
const TICKS_WANTED = 10;

export function stolenPart(
  before: readonly CpuTimes[],
  after: readonly CpuTimes[],
): { stolen?: number } {
  const grown = (name: 'stealTicks' | 'totalTicks') =>
    sumOf(after.map((one) => one[name])) - sumOf(before.map((one) => one[name]));
  const ticks = grown('totalTicks');
  if (before.length === 0 || ticks < TICKS_WANTED) return {};
  return { stolen: grown('stealTicks') / ticks };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
