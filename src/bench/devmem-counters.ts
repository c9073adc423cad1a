// Device-memory packets of each NIC before and after a run, and the rule about them: they are the
// only proof that data came through device memory. The emulator keeps them in files, a NIC's driver
// in its statistics. Judged NIC by NIC: in a sum one that stands still hides behind another.

import { processEnvironment } from '../base/config.js';
import { readEmulatedStatistics, STATE_FOLDER_VARIABLE } from '../host/read/emulated-nics.js';
import { openStatistics } from '../host/read/nic-statistics.js';
import { openHost } from '../host/read/open-host.js';
import type { DevmemVerdict, NicDevmem } from './bench-result.js';

const COUNTER = 'rx_devmem_pkts';

/** What a NIC of the receiving end had taken in at some moment. */
export interface NicIntake {
  readonly nic: string;
  /** Through the channels of the provider, since it was opened. */
  readonly bytes: number;
  /** In device memory, as the NIC counts them; −1 where it does not. */
  readonly packets: number;
}

/** `received` has the bytes of each NIC (RailSet.receivedBytes). */
export function readIntake(
  received: ReadonlyMap<string, number>,
  isEmulated: boolean,
): NicIntake[] {
  const nics = [...received.keys()];
  const packets = isEmulated ? emulatedCounts(nics) : driverCounts(nics);
  return [...received].map(([nic, bytes]) => ({ nic, bytes, packets: packets.get(nic) ?? -1 }));
}

function emulatedCounts(nics: readonly string[]): Map<string, number> {
  const folder = processEnvironment()[STATE_FOLDER_VARIABLE] ?? '';
  if (folder === '') return new Map();
  return new Map(nics.map((nic) => [nic, readEmulatedStatistics(folder, nic)[COUNTER] ?? -1]));
}

function driverCounts(nics: readonly string[]): Map<string, number> {
  const statistics = openStatistics(openHost());
  try {
    return new Map(nics.map((nic) => [nic, statistics.read(nic)[COUNTER] ?? -1]));
  } finally {
    statistics.close();
  }
}

/** Data that arrived without a device-memory packet did not come that way, whatever was said. */
export function judgeDevmem(
  before: readonly NicIntake[],
  after: readonly NicIntake[],
  isHostRecv: boolean,
): DevmemVerdict {
  const nics = after.map((now) => {
    const then = before.find(({ nic }) => nic === now.nic);
    return judgeNic(then ?? { nic: now.nic, bytes: 0, packets: -1 }, now, isHostRecv);
  });
  const having = (verdict: NicDevmem['verdict']) => nics.filter((nic) => nic.verdict === verdict);
  const reasons = nics.flatMap(({ nic, reason }) => (reason === '' ? [] : [`${nic}: ${reason}`]));
  const isCounted = nics.length > 0 && nics.every(({ packets }) => packets >= 0);
  const packets = isCounted ? nics.reduce((sum, nic) => sum + nic.packets, 0) : -1;
  const common = { packets, reason: reasons.join('; '), nics };
  if (having('failed').length > 0) return { verdict: 'failed', ...common };
  if (having('unknown').length > 0) return { verdict: 'unknown', ...common };
  if (nics.length > 0) return { verdict: 'good', ...common };
  return { verdict: 'unknown', ...common, reason: 'no NIC was looked at' };
}

function judgeNic(before: NicIntake, after: NicIntake, isHostRecv: boolean): NicDevmem {
  const bytes = after.bytes - before.bytes;
  const isCounted = before.packets >= 0 && after.packets >= 0;
  const packets = isCounted ? after.packets - before.packets : -1;
  const facts = { nic: after.nic, bytes, packets };
  if (bytes === 0) return { ...facts, verdict: 'idle', reason: '' };
  if (!isCounted) return { ...facts, verdict: 'unknown', reason: `no ${COUNTER}` };
  if (isHostRecv && packets > 0) {
    return { ...facts, verdict: 'failed', reason: 'host receives went through device memory' };
  }
  if (!isHostRecv && packets === 0) {
    return { ...facts, verdict: 'failed', reason: 'data arrived, but not through device memory' };
  }
  return { ...facts, verdict: 'good', reason: '' };
}
