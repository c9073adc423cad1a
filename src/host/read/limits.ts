// Limits and sysctls that bound a transfer, and the IOMMU's groups.

import { parseWhole, readLine, readNumber } from './field-text.js';
import type { HostFiles } from './host-files.js';
import type { IommuModel, LimitsModel, LimitValue, ResourceLimit } from './host-settings.js';
import type { PciDevice } from './model.js';

const SYSCTLS = [
  'net.core.somaxconn',
  'net.core.netdev_budget',
  'net.core.netdev_budget_usecs',
  'net.core.netdev_max_backlog',
  'net.core.busy_poll',
  'net.core.busy_read',
  'net.core.default_qdisc',
  'net.ipv4.tcp_mtu_probing',
  'net.ipv4.tcp_slow_start_after_idle',
  'net.ipv4.tcp_no_metrics_save',
  'net.ipv4.tcp_max_syn_backlog',
  'net.ipv4.tcp_timestamps',
  'net.ipv4.tcp_window_scaling',
  'net.ipv4.tcp_mem',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.conf.all.arp_ignore',
  'net.ipv4.conf.all.arp_announce',
  'net.ipv4.conf.all.rp_filter',
  'kernel.numa_balancing',
  'kernel.sched_rt_runtime_us',
  'vm.nr_hugepages',
  'vm.zone_reclaim_mode',
] as const;

const NO_LIMIT: ResourceLimit = { soft: 'unlimited', hard: 'unlimited' };
const CAP_IPC_LOCK = 14n;

/** Whoever has this capability, root as a rule, is not held to the limit of locked memory. */
function mayLockAll(files: HostFiles): boolean {
  const match = /^CapEff:\s*([0-9a-f]+)$/m.exec(files.read('/proc/self/status') ?? '');
  return match !== null && ((BigInt(`0x${match[1]}`) >> CAP_IPC_LOCK) & 1n) === 1n;
}

export function readLimits(files: HostFiles): LimitsModel {
  const limits = parseResourceLimits(files.need('/proc/self/limits') ?? '');
  const sysctl = (name: string) => readLine(files, `/proc/sys/${name.replaceAll('.', '/')}`);
  const sysctls: Record<string, string> = {};
  for (const name of SYSCTLS) {
    const value = sysctl(name);
    if (value !== undefined) sysctls[name] = value.replace(/\s+/g, ' ');
  }
  const numberOf = (name: string) => parseWhole(sysctl(name));
  const listOf = (name: string) => sysctl(name)?.split(/\s+/).map(Number);
  return {
    memlockBytes: mayLockAll(files) ? NO_LIMIT : limits['Max locked memory'],
    openFiles: limits['Max open files'],
    processes: limits['Max processes'],
    rmemMaxBytes: numberOf('net.core.rmem_max'),
    wmemMaxBytes: numberOf('net.core.wmem_max'),
    rmemDefaultBytes: numberOf('net.core.rmem_default'),
    wmemDefaultBytes: numberOf('net.core.wmem_default'),
    optmemMaxBytes: numberOf('net.core.optmem_max'),
    tcpRmemBytes: listOf('net.ipv4.tcp_rmem'),
    tcpWmemBytes: listOf('net.ipv4.tcp_wmem'),
    congestionControl: sysctl('net.ipv4.tcp_congestion_control'),
    congestionAvailable: (sysctl('net.ipv4.tcp_available_congestion_control') ?? '')
      .split(' ')
      .filter(Boolean),
    sysctls,
  };
}

export function readRfsEntries(files: HostFiles): number | undefined {
  return readNumber(files, '/proc/sys/net/core/rps_sock_flow_entries');
}

/** Name, soft and hard limit per line; names contain blanks, columns are two or more apart. */
export function parseResourceLimits(text: string): Record<string, ResourceLimit> {
  const limits: Record<string, ResourceLimit> = {};
  for (const line of text.split('\n')) {
    const match = /^(Max .+?) {2,}(\S+) +(\S+)/.exec(line);
    if (match === null) continue;
    const soft = parseLimitValue(match[2] ?? '');
    const hard = parseLimitValue(match[3] ?? '');
    if (soft !== undefined && hard !== undefined) limits[match[1] ?? ''] = { soft, hard };
  }
  return limits;
}

function parseLimitValue(text: string): LimitValue | undefined {
  return text === 'unlimited' ? 'unlimited' : parseWhole(text);
}

export function readIommu(
  files: HostFiles,
  pci: readonly PciDevice[],
  kernelArguments: string | undefined,
): IommuModel {
  const groups = new Map<number, string[]>();
  for (const device of pci) {
    if (device.iommuGroup === undefined) continue;
    const devices = groups.get(device.iommuGroup) ?? [];
    groups.set(device.iommuGroup, devices);
    devices.push(device.address);
  }
  return {
    isActive: isIommuActive(files, groups.size, pci),
    groups: [...groups].map(([id, devices]) => ({
      id,
      type: readLine(files, `/sys/kernel/iommu_groups/${id}/type`),
      devices,
    })),
    kernelArguments: kernelArguments?.split(/\s+/).filter((word) => /iommu[.=]/.test(word)),
  };
}

// Without devices or without the folder of groups, no group says nothing.
function isIommuActive(
  files: HostFiles,
  groupCount: number,
  pci: readonly PciDevice[],
): boolean | undefined {
  if (groupCount > 0) return true;
  return pci.length > 0 && files.isFolder('/sys/kernel/iommu_groups') ? false : undefined;
}
