// Interrupts of each NIC by core, before and after a benchmark: which cores the NICs really woke.

import type { HostFiles } from '../host/read/host-files.js';
import { parseInterrupts } from '../host/read/interrupts.js';
import { pciPath } from '../host/read/pci.js';

/** NIC → core → interrupts since boot. */
type InterruptCounts = Readonly<Record<string, Readonly<Record<number, number>>>>;

/** NIC → core → before and after. */
export type InterruptPairs = Readonly<
  Record<string, Readonly<Record<number, readonly [before: number, after: number]>>>
>;

const NICS = '/sys/class/net';

/** Interfaces without interrupts of their own, as lo, are left out. */
export function readInterruptCounts(files: HostFiles): InterruptCounts {
  const nicOf = new Map<string, string>();
  for (const nic of files.list(NICS)) {
    const address = pciPath(files.realPath(`${NICS}/${nic}`) ?? '').at(-1);
    if (address !== undefined) nicOf.set(address, nic);
  }
  const counts: Record<string, Record<number, number>> = {};
  for (const { pciAddress = '', countByCpu } of interruptRows(files)) {
    const nic = nicOf.get(pciAddress);
    if (nic === undefined) continue;
    const own = (counts[nic] ??= {});
    for (const [cpu, count] of Object.entries(countByCpu)) {
      own[Number(cpu)] = (own[Number(cpu)] ?? 0) + count;
    }
  }
  return counts;
}

function interruptRows(files: HostFiles) {
  return parseInterrupts(files.read('/proc/interrupts') ?? '').rows;
}

/** Pure. A core that had none until the run began from 0. */
export function pairCounts(before: InterruptCounts, after: InterruptCounts): InterruptPairs {
  const pairs: Record<string, Record<number, readonly [number, number]>> = {};
  for (const [nic, counts] of Object.entries(after)) {
    const old = before[nic] ?? {};
    const own = (pairs[nic] ??= {});
    for (const [cpu, count] of Object.entries(counts)) {
      own[Number(cpu)] = [old[Number(cpu)] ?? 0, count];
    }
  }
  return pairs;
}
