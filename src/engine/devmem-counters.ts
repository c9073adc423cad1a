// Device-memory packets as the NICs of this host have counted them: the emulator keeps them in
// files, a NIC's driver in its statistics.

import type { Environment } from '../base/config.js';
import { readEmulatedStatistics, STATE_FOLDER_VARIABLE } from '../host/read/emulated-nics.js';
import { openStatistics } from '../host/read/nic-statistics.js';
import { openHost } from '../host/read/open-host.js';
import { DEVMEM_COUNTER } from '../provider/tcpx/devmem-verdict.js';

/** By NIC; one that does not count them is not in it. `environment` is the plugin's. */
export function readDevmemPackets(
  nics: readonly string[],
  isEmulated: boolean,
  environment: Environment,
): ReadonlyMap<string, number> {
  const statisticsOf = isEmulated ? emulated(environment) : undefined;
  if (statisticsOf !== undefined) return countsOf(nics, statisticsOf);
  if (isEmulated) return new Map();
  const statistics = openStatistics(openHost());
  try {
    return countsOf(nics, (nic) => statistics.read(nic));
  } finally {
    statistics.close();
  }
}

type StatisticsOf = (nic: string) => Readonly<Record<string, number>>;

function emulated(environment: Environment): StatisticsOf | undefined {
  const folder = environment[STATE_FOLDER_VARIABLE] ?? '';
  return folder === '' ? undefined : (nic) => readEmulatedStatistics(folder, nic);
}

function countsOf(nics: readonly string[], statisticsOf: StatisticsOf): Map<string, number> {
  const counts = new Map<string, number>();
  for (const nic of nics) {
    const count = statisticsOf(nic)[DEVMEM_COUNTER];
    if (count !== undefined) counts.set(nic, count);
  }
  return counts;
}
