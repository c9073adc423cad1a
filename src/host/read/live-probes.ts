// Asks this machine what its files do not tell: drivers by ioctl, queues by netlink, addresses by
// the runtime, GPUs by nvidia-smi. Whatever does not answer is left out and noted.

import { execFileSync } from 'node:child_process';
import { networkInterfaces } from 'node:os';
import { getSystemErrorName } from 'node:util';
import { type EthtoolSocket, openEthtoolSocket } from '../../ffi/ethtool.js';
import { openGenericNetlink } from '../../ffi/netlink.js';
import { readEthtool } from './ethtool-reader.js';
import type { HostFiles } from './host-files.js';
import { findFamily, readNetdevQueues, readQueueBytes, readTcpDataSplit } from './netdev-family.js';
import { GPU_QUERY_FIELDS, type HostProbes, type NicAddresses, type QueueBytes } from './probes.js';

const NVIDIA_SMI_TIMEOUT_MS = 15_000;

export function liveProbes(files: HostFiles): HostProbes {
  return {
    ethtool: (nic) => withEthtool(files, (socket) => readEthtool(socket, nic, splitOf(nic))),
    netdevQueues: () => {
      const socket = openGenericNetlink();
      if (typeof socket === 'number') {
        files.gaps.push({ path: 'netlink netdev', reason: getSystemErrorName(-socket) });
        return undefined;
      }
      const queues = readNetdevQueues(socket);
      socket.close();
      if (queues === undefined) files.gaps.push({ path: 'netlink netdev', reason: 'no answer' });
      return queues;
    },
    queueBytes: readLiveQueueBytes,
    addresses: readAddresses,
    nvidiaSmi: () => queryNvidiaSmi(files),
  };
}

function readLiveQueueBytes(): readonly QueueBytes[] {
  const socket = openGenericNetlink();
  if (typeof socket === 'number') return [];
  const family = findFamily(socket, 'netdev');
  const bytes = family === undefined ? [] : readQueueBytes(socket, family.id);
  socket.close();
  return bytes;
}

function withEthtool<T>(files: HostFiles, use: (socket: EthtoolSocket) => T): T | undefined {
  const socket = openEthtoolSocket();
  if (typeof socket === 'number') {
    files.gaps.push({ path: 'ethtool', reason: getSystemErrorName(-socket) });
    return undefined;
  }
  try {
    return use(socket);
  } finally {
    socket.close();
  }
}

function splitOf(nic: string): 'unknown' | 'off' | 'on' | undefined {
  const socket = openGenericNetlink();
  if (typeof socket === 'number') return undefined;
  const family = findFamily(socket, 'ethtool');
  const split = family === undefined ? undefined : readTcpDataSplit(socket, family.id, nic);
  socket.close();
  return split;
}

/** Interfaces that are down or have no address do not appear. */
function readAddresses(): NicAddresses[] {
  return Object.entries(networkInterfaces()).map(([name, entries]) => ({
    name,
    addresses: (entries ?? []).map((entry) => ({
      family: entry.family === 'IPv4' ? 4 : 6,
      address: entry.address,
      prefixLength: Number(entry.cidr?.split('/')[1] ?? 0),
    })),
  }));
}

// Starting the tool takes a second with many GPUs: only where the driver is loaded.
function queryNvidiaSmi(files: HostFiles): string | undefined {
  if (files.realPath('/proc/driver/nvidia') === undefined) return undefined;
  try {
    return execFileSync(
      'nvidia-smi',
      [`--query-gpu=${GPU_QUERY_FIELDS.join(',')}`, '--format=csv,noheader,nounits'],
      { encoding: 'utf8', timeout: NVIDIA_SMI_TIMEOUT_MS, stdio: ['ignore', 'pipe', 'ignore'] },
    );
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'failed';
    files.gaps.push({ path: 'nvidia-smi', reason });
    return undefined;
  }
}
