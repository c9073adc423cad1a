// Kernel, limits, GPU driver, clock: what the machine itself brings.

import { formatBytes } from '../../base/units.js';
import type { ResourceLimit } from '../../host/read/host-settings.js';
import { fail, pass, type Rule, skip, type Verdict, warn, worst } from '../rule.js';
import { EMULATED, EMULATED_NETWORK } from './devmem.js';

const MIB = 1024 ** 2;
const MEMLOCK_BYTES_WANTED = 256 * MIB;
const OPEN_FILES_WANTED = 4096;
const OPTMEM_BYTES_WANTED = 131_072;

export const kernelRule: Rule = {
  id: 'system.kernel',
  area: 'system',
  title: 'The kernel is recent enough',
  why:
    'Sockets, epoll and zero-copy sends as used here need 5.4. Device memory needs Google’s TCPX ' +
    'kernel, or 6.12 to receive and 6.16 to send.',
  remedy: 'Boot a newer kernel; on A3-high use the image that Google names for GPUDirect-TCPX.',
  proof: 'uname -r',
  check({ host }): Verdict {
    const release = host.kernelRelease;
    const match = /^(\d+)\.(\d+)/.exec(release ?? '');
    if (release === undefined || match === null) return skip('the release could not be read');
    const version = Number(match[1]) * 1000 + Number(match[2]);
    return version >= 5004 ? pass(release) : fail(`${release} is older than 5.4`);
  },
};

export const limitsRule: Rule = {
  id: 'system.limits',
  area: 'system',
  title: 'Locked memory and open files suffice',
  why:
    'Staging rings and GPU-visible host memory are locked; each channel holds sockets. A limit ' +
    'met in mid-run fails a transfer that worked on a smaller scale.',
  remedy:
    'Raise memlock to unlimited and nofile to 1048576 (limits.conf, LimitMEMLOCK= of the unit, ' +
    'or --ulimit of the container).',
  proof: 'ulimit -l -n',
  check({ host: { limits }, provider }): Verdict {
    const parts = [
      limitPart('locked memory', limits.memlockBytes, MEMLOCK_BYTES_WANTED, formatBytes),
      limitPart('open files', limits.openFiles, OPEN_FILES_WANTED, String),
    ];
    if (provider === 'tcpx') parts.push(optmemPart(limits.optmemMaxBytes));
    return worst(parts, skip('no limit could be read'));
  },
};

function optmemPart(bytes: number | undefined): Verdict {
  if (bytes === undefined) return skip('net.core.optmem_max: not readable');
  const text = `net.core.optmem_max ${bytes}`;
  if (bytes >= OPTMEM_BYTES_WANTED) return pass(text);
  return warn(`${text}: control messages want ${OPTMEM_BYTES_WANTED}`);
}

function limitPart(
  name: string,
  limit: ResourceLimit | undefined,
  wanted: number,
  format: (value: number) => string,
): Verdict {
  if (limit === undefined) return skip(`${name}: not readable`);
  const { soft } = limit;
  if (soft === 'unlimited') return pass(`${name}: unlimited`);
  const text = `${name}: ${format(soft)}`;
  return soft >= wanted ? pass(text) : warn(`${text}, wanted ${format(wanted)}`);
}

export const gpuDriverRule: Rule = {
  id: 'system.gpu',
  area: 'system',
  title: 'GPUs and their driver are there',
  why: 'Device memory can be sent and received only where the driver exports it.',
  remedy:
    'Install the NVIDIA driver (open kernel modules for dma-buf export) and check nvidia-smi.',
  proof: 'nvidia-smi',
  check({ host, provider, plugin }): Verdict {
    const { gpus } = host;
    const [first] = gpus;
    if (first === undefined) {
      if (plugin.isEmulator === true) return skip(EMULATED);
      if (!host.isPciComplete) return skip('PCI devices could not be read');
      return provider === 'tcpx' ? fail('no GPU found') : skip('no GPU; host memory only');
    }
    const version = first.driverVersion;
    if (version === undefined) {
      // The running kernel shows a loaded driver; a tree of files may just lack it.
      const text = `${gpus.length} GPUs on PCI, but no driver version`;
      return host.isLive ? fail(text) : skip(text);
    }
    return pass(`${gpus.length} × ${first.name ?? 'GPU'}, driver ${version}`);
  },
};

export const clockRule: Rule = {
  id: 'system.clock',
  area: 'system',
  title: 'The clock is synchronised',
  why: 'Logs, traces and counters of two nodes are compared by time.',
  remedy: 'Run chronyd or systemd-timesyncd.',
  proof: 'timedatectl show -p NTPSynchronized',
  check({ timeKeepers, isCapture, host, plugin, provider }): Verdict {
    if (provider === 'tcpx' && plugin.isEmulator === true) return skip(EMULATED_NETWORK);
    if (timeKeepers.length > 0) return pass(timeKeepers.join(', '));
    if (isCapture) return skip('a capture does not hold this');
    if (host.unseenWriters.some((place) => place !== '/proc/cmdline')) {
      return skip('the process table could not be read');
    }
    return warn('neither a time service nor a synchronised state was found');
  },
};

export const iommuRule: Rule = {
  id: 'system.iommu',
  area: 'system',
  title: 'The IOMMU does not slow DMA',
  why: 'Translated DMA costs throughput per packet and can forbid transfers between PCI devices.',
  remedy: 'Boot with iommu=pt where the platform allows it.',
  proof: 'cat /sys/kernel/iommu_groups/*/type',
  check({ host: { iommu } }): Verdict {
    if (iommu.isActive === undefined) return skip('whether one is active could not be read');
    if (!iommu.isActive) return pass('not active');
    const types = iommu.groups.map(({ type }) => type);
    const translated = types.filter((type) => type !== undefined && type !== 'identity').length;
    if (translated > 0) {
      const words = (iommu.kernelArguments ?? []).join(' ');
      return warn(`${translated} of ${types.length} groups translate DMA ${words}`.trimEnd());
    }
    if (types.every((type) => type === 'identity')) return pass('active, pass-through');
    // Where the kernel names no type, its arguments tell.
    if (iommu.kernelArguments?.some((word) => /[=,]pt$/.test(word)) === true) {
      return pass(`active, pass-through by ${iommu.kernelArguments.join(' ')}`);
    }
    return skip(`active with ${types.length} groups; their types are not readable`);
  },
};
