// Driver statistics and bytes per queue, read again and again at low cost.

import { openEthtoolSocket } from '../../ffi/ethtool.js';
import { openGenericNetlink } from '../../ffi/netlink.js';
import { statisticsReader } from './ethtool-reader.js';
import { findFamily, readQueueBytes } from './netdev-family.js';
import type { QueueBytes } from './probes.js';
import type { HostSource } from './read-host.js';

export interface StatisticsSource {
  read(nic: string): Readonly<Record<string, number>>;
  /** Bytes per queue by netlink, for drivers whose statistics do not have them. */
  queueBytes(): readonly QueueBytes[];
  close(): void;
}

export function openStatistics(source: HostSource): StatisticsSource {
  if (source.files.isLive) return openLiveStatistics();
  return {
    read: (nic) => source.probes.ethtool(nic)?.statistics ?? {},
    queueBytes: () => source.probes.queueBytes(),
    close: () => undefined,
  };
}

function openLiveStatistics(): StatisticsSource {
  const ethtool = openEthtoolSocket();
  const netlink = openGenericNetlink();
  const family = typeof netlink === 'number' ? undefined : findFamily(netlink, 'netdev');
  const readers = new Map<string, () => Readonly<Record<string, number>>>();
  return {
    read: (nic) => {
      if (typeof ethtool === 'number') return {};
      const reader = readers.get(nic) ?? statisticsReader(ethtool, nic);
      readers.set(nic, reader);
      return reader();
    },
    queueBytes: () =>
      typeof netlink === 'number' || family === undefined ? [] : readQueueBytes(netlink, family.id),
    close: () => {
      if (typeof ethtool !== 'number') ethtool.close();
      if (typeof netlink !== 'number') netlink.close();
    },
  };
}
