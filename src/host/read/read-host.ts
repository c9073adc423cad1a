// The whole host in one model: every reader, in the order in which they need each other.

import { readIrqWriters, unseenWriters } from '../irq/irq-writers.js';
import { readCpus, readNodes } from './cpus.js';
import { readLine } from './field-text.js';
import { readGpus } from './gpus.js';
import type { HostFiles } from './host-files.js';
import { readIrqDefaultAffinity, readIrqs } from './irqs.js';
import { parseSoftirqs, parseSoftnetStat, readTcpCounters } from './kernel-counters.js';
import { readIommu, readLimits, readRfsEntries } from './limits.js';
import type { HostModel } from './model.js';
import { readNics } from './nics.js';
import { isPciComplete, readPci } from './pci.js';
import type { HostProbes } from './probes.js';

export interface HostSource {
  readonly files: HostFiles;
  readonly probes: HostProbes;
}

export function readHost({ files, probes }: HostSource): HostModel {
  const kernelArguments = readLine(files, '/proc/cmdline');
  const pci = readPci(files);
  const nodes = readNodes(files, pci);
  const irqs = readIrqs(files);
  const softirqs = files.read('/proc/softirqs');
  const model = {
    root: files.root,
    isLive: files.isLive,
    hostname: readLine(files, '/proc/sys/kernel/hostname'),
    kernelRelease: readLine(files, '/proc/sys/kernel/osrelease'),
    kernelArguments,
    cpus: readCpus(files, nodes),
    nodes,
    pci,
    isPciComplete: isPciComplete(files, pci),
    nics: readNics(files, { pci, irqs, probes }),
    gpus: readGpus(files, pci, probes.nvidiaSmi()),
    irqs,
    irqDefaultAffinity: readIrqDefaultAffinity(files),
    softirqs: softirqs === undefined ? undefined : parseSoftirqs(softirqs),
    softnet: parseSoftnetStat(files.read('/proc/net/softnet_stat') ?? ''),
    tcpCounters: readTcpCounters(files),
    rfsEntries: readRfsEntries(files),
    writers: readIrqWriters(files, kernelArguments ?? ''),
    unseenWriters: unseenWriters(files, kernelArguments),
    iommu: readIommu(files, pci, kernelArguments),
    limits: readLimits(files),
  };
  return { ...model, gaps: [...files.gaps] };
}
