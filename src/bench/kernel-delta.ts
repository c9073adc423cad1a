// What the kernel counted on this host while a benchmark ran: TCP's troubles, and each interface.

import { parseNetDev, readTcpCounters } from '../host/kernel-counters.js';
import { openFolderFiles } from '../host/host-files.js';
import type { KernelDelta } from '../results/bench-result.js';

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
}

export function readKernelCounters(): KernelCounters {
  const files = openFolderFiles('/');
  return { tcp: readTcpCounters(files), nics: parseNetDev(files.read('/proc/net/dev') ?? '') };
}

/** Interfaces on which nothing moved are left out. */
export function kernelDelta(before: KernelCounters, after: KernelCounters): KernelDelta {
  const tcp = TCP_COUNTERS.map((name) => [name, (after.tcp[name] ?? 0) - (before.tcp[name] ?? 0)]);
  const nics: Record<string, Record<string, number>> = {};
  for (const [nic, counters] of after.nics) {
    const old = before.nics.get(nic) ?? {};
    const grown = Object.entries(counters).map(([name, count]) => [name, count - (old[name] ?? 0)]);
    if (grown.some(([, count]) => count !== 0)) nics[nic] = Object.fromEntries(grown) as never;
  }
  return { tcp: Object.fromEntries(tcp) as Record<string, number>, nics };
}
