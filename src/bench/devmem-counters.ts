// Device-memory packets of NICs before and after a run, and the rule about them: they are the only
// proof that data came through device memory. The emulator keeps them in files, a NIC's driver in
// its statistics.

import { processEnvironment } from '../base/config.js';
import { readEmulatedStatistics, STATE_FOLDER_VARIABLE } from '../host/read/emulated-nics.js';
import { openStatistics } from '../host/read/nic-statistics.js';
import { openHost } from '../host/read/open-host.js';
import type { DevmemVerdict } from './bench-result.js';

const COUNTER = 'rx_devmem_pkts';

/** Packets of all NICs together; −1 where one of them has no such counter. */
export function readDevmemPackets(nics: readonly string[], isEmulated: boolean): number {
  const counts = isEmulated ? emulatedCounts(nics) : driverCounts(nics);
  return counts.some((count) => count < 0) ? -1 : counts.reduce((sum, count) => sum + count, 0);
}

function emulatedCounts(nics: readonly string[]): number[] {
  const folder = processEnvironment()[STATE_FOLDER_VARIABLE] ?? '';
  if (folder === '') return [-1];
  return nics.map((nic) => readEmulatedStatistics(folder, nic)[COUNTER] ?? 0);
}

function driverCounts(nics: readonly string[]): number[] {
  const statistics = openStatistics(openHost());
  try {
    return nics.map((nic) => statistics.read(nic)[COUNTER] ?? -1);
  } finally {
    statistics.close();
  }
}

/** Data that arrived without a device-memory packet did not come that way, whatever was said. */
export function judgeDevmem(
  packetsBefore: number,
  packetsAfter: number,
  bytesMoved: number,
  isHostRecv: boolean,
): DevmemVerdict {
  if (packetsBefore < 0 || packetsAfter < 0) {
    return { verdict: 'unknown', packets: -1, reason: `no ${COUNTER} on these NICs` };
  }
  const packets = packetsAfter - packetsBefore;
  if (isHostRecv && packets > 0) {
    return { verdict: 'failed', packets, reason: 'host receives went through device memory' };
  }
  if (!isHostRecv && packets === 0 && bytesMoved > 0) {
    return { verdict: 'failed', packets, reason: 'data arrived, but not through device memory' };
  }
  return { verdict: 'good', packets, reason: '' };
}
