// NICs of the plugin emulator: their counters lie in a folder that its processes share, one file
// per NIC in the form of `ethtool -S`. They are no interfaces of this host.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StatisticsSource } from './nic-statistics.js';

export const STATE_FOLDER_VARIABLE = 'TCPX_EMU_STATE_DIR';

const SUFFIX = '.stats';
/** A NIC has no file before its first packet. */
const ZEROS = {
  rx_packets: 0,
  rx_bytes: 0,
  tx_packets: 0,
  tx_bytes: 0,
  rx_devmem_pkts: 0,
  rx_devmem_bytes: 0,
} as const;

/** NICs that have counters in the folder. */
export function emulatedNics(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((file) => file.endsWith(SUFFIX))
      .map((file) => file.slice(0, -SUFFIX.length))
      .sort();
  } catch {
    return [];
  }
}

/** Empty, which is unknown, where there is no folder or the file cannot be read. */
export function readEmulatedStatistics(folder: string, nic: string): Record<string, number> {
  const path = join(folder, `${nic}${SUFFIX}`);
  try {
    return { ...ZEROS, ...parseStatistics(readFileSync(path, 'utf8')) };
  } catch {
    return existsSync(folder) && !existsSync(path) ? { ...ZEROS } : {};
  }
}

/** `     rx_packets: 12`, a line each. */
export function parseStatistics(text: string): Record<string, number> {
  const found = [...text.matchAll(/^\s*(\w+): (\d+)$/gm)];
  return Object.fromEntries(found.map(([, name = '', value]) => [name, Number(value)]));
}

export function emulatedSource(folder: string): StatisticsSource {
  return {
    read: (nic) => readEmulatedStatistics(folder, nic),
    queueBytes: () => [],
    close: () => undefined,
  };
}
