// What no file of the host tells: ethtool and netlink answers, addresses, nvidia-smi. On this
// machine they are asked for; from a capture they are read as the capture wrote them.

import type { EthtoolData } from './ethtool-data.js';
import { CAPTURE_FOLDER } from './file-tree.js';
import type { HostFiles } from './host-files.js';
import type { NicAddress } from './model.js';

export interface HostProbes {
  ethtool(nic: string): EthtoolData | undefined;
  netdevQueues(): NetdevQueues | undefined;
  addresses(): readonly NicAddresses[] | undefined;
  /** CSV of the GPU query below. */
  nvidiaSmi(): string | undefined;
}

export interface NicAddresses {
  readonly name: string;
  readonly addresses: readonly NicAddress[];
}

/** The `netdev` netlink family's view of queues; every driver leaves some attributes out. */
export interface NetdevQueues {
  /** Commands that this kernel's family has: 13 binds device memory to RX, 15 to TX. */
  readonly operations: readonly number[];
  readonly queues: readonly NetdevQueue[];
  readonly napis: readonly NetdevNapi[];
}

export interface NetdevQueue {
  readonly ifindex: number;
  readonly type: 'rx' | 'tx';
  readonly id: number;
  readonly napiId: number | undefined;
  /** A dmabuf is bound: this queue receives into device memory. */
  readonly dmabufId: number | undefined;
}

export interface NetdevNapi {
  readonly ifindex: number;
  readonly id: number;
  readonly irq: number | undefined;
  /** Thread of threaded NAPI. */
  readonly pid: number | undefined;
}

export const GPU_QUERY_FIELDS = [
  'index',
  'uuid',
  'name',
  'pci.bus_id',
  'driver_version',
  'memory.total',
  'pcie.link.gen.current',
  'pcie.link.width.current',
  'mig.mode.current',
] as const;

export const CAPTURE_PATHS = {
  manifest: `${CAPTURE_FOLDER}/manifest.json`,
  addresses: `${CAPTURE_FOLDER}/addresses.json`,
  netdevQueues: `${CAPTURE_FOLDER}/netdev-queues.json`,
  nvidiaSmi: `${CAPTURE_FOLDER}/nvidia-smi.csv`,
  ethtool: (nic: string) => `${CAPTURE_FOLDER}/ethtool/${nic}.json`,
} as const;

/** Answers that were written into a captured tree. */
export function captureProbes(files: HostFiles): HostProbes {
  return {
    ethtool: (nic) => {
      const data = readJson(files, CAPTURE_PATHS.ethtool(nic), isEthtoolData);
      return data === undefined ? undefined : { ...data, source: 'capture' };
    },
    netdevQueues: () => readJson(files, CAPTURE_PATHS.netdevQueues, isNetdevQueues),
    addresses: () => readJson(files, CAPTURE_PATHS.addresses, isAddressList),
    nvidiaSmi: () => files.read(CAPTURE_PATHS.nvidiaSmi),
  };
}

function readJson<T>(
  files: HostFiles,
  path: string,
  isShape: (value: unknown) => value is T,
): T | undefined {
  const text = files.read(path);
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text) as unknown; // checked: isShape
    if (isShape(value)) return value;
    files.gaps.push({ path, reason: 'unexpected shape' });
  } catch {
    files.gaps.push({ path, reason: 'not JSON' });
  }
  return undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// Each part is optional, the three maps are not: readers index into them.
function isEthtoolData(value: unknown): value is EthtoolData {
  if (!isRecord(value)) return false;
  return ['features', 'privateFlags', 'statistics'].every((name) => isRecord(value[name]));
}

function isNetdevQueues(value: unknown): value is NetdevQueues {
  return isRecord(value) && Array.isArray(value['queues']) && Array.isArray(value['napis']);
}

function isAddressList(value: unknown): value is NicAddresses[] {
  if (!Array.isArray(value)) return false;
  return value.every((nic) => isRecord(nic) && Array.isArray(nic['addresses']));
}
