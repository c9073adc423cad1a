// Network interfaces: link, queues, steering, statistics, and their vectors by PCI device.

import { sortCpus } from '../../base/cpu-set.js';
import { readCpuMask, readLine, readLinkName, readNumber } from './field-text.js';
import type { HostFiles } from './host-files.js';
import type { Irq, Nic, NicVector, PciDevice, RxQueueSteering, TxQueueSteering } from './model.js';
import { nameVectors } from './nic-vectors.js';
import { pciPath } from './pci.js';
import type { HostProbes, NetdevQueues } from './probes.js';

const NET_FOLDER = '/sys/class/net';

export interface NicContext {
  readonly pci: readonly PciDevice[];
  readonly irqs: readonly Irq[];
  readonly probes: HostProbes;
}

export function readNics(files: HostFiles, context: NicContext): Nic[] {
  const told = context.probes.addresses();
  const addresses = new Map((told ?? []).map((nic) => [nic.name, nic.addresses]));
  const netdev = context.probes.netdevQueues();
  const queueBytes = context.probes.queueBytes();
  const nics: Nic[] = [];
  for (const name of files.list(NET_FOLDER)) {
    const folder = files.realPath(`${NET_FOLDER}/${name}`);
    // `bonding_masters` is a file among the interfaces.
    if (folder === undefined || files.realPath(`${folder}/ifindex`) === undefined) continue;
    const nic = readNic(files, folder, name, context, netdev);
    const ownBytes = queueBytes
      .filter(({ ifindex }) => ifindex === nic.ifindex)
      .map(({ type, queue, bytes }) => ({ direction: type, queue, bytes }));
    nics.push({ ...nic, addresses: told && (addresses.get(name) ?? []), queueBytes: ownBytes });
  }
  return nics;
}

/** Queues as ethtool counts them: those of one direction, and those of both. */
function openChannels(
  channels: { readonly rx: number; readonly tx: number; readonly combined: number } | undefined,
) {
  if (channels === undefined) return { rxQueueCount: undefined, txQueueCount: undefined };
  const { rx, tx, combined } = channels;
  return { rxQueueCount: rx + combined, txQueueCount: tx + combined };
}

function readNic(
  files: HostFiles,
  folder: string,
  name: string,
  context: NicContext,
  netdev: NetdevQueues | undefined,
): Omit<Nic, 'addresses' | 'queueBytes'> {
  const device = files.realPath(`${folder}/device`) ?? deviceAbove(folder);
  const ethtool = context.probes.ethtool(name);
  // sysfs shows the namespace in which it was mounted, sockets see the one of the process.
  if (ethtool?.gaps.some(({ reason }) => reason === 'ENODEV') === true) {
    const reason = 'listed in sysfs, but not in this network namespace';
    files.gaps.push({ path: `nic ${name}`, reason });
  }
  // A virtio child lies one level below its PCI device; the path tells where PCI ends.
  const pciAddress = pciPath(device ?? '').at(-1);
  const pci = context.pci.find(({ address }) => address === pciAddress);
  const driver = readLinkName(files, `${device ?? folder}/driver`) ?? ethtool?.driver?.driver;
  const rxSteering = readRxSteering(files, folder);
  const txSteering = readTxSteering(files, folder);
  const ifindex = readNumber(files, `${folder}/ifindex`);
  const hasQueues = files.isFolder(`${folder}/queues`);
  const queues = hasQueues
    ? { rxQueueCount: rxSteering.length, txQueueCount: txSteering.length }
    : openChannels(ethtool?.channels);
  return {
    name,
    ifindex,
    isVirtual: device === undefined,
    driver,
    pciAddress,
    node: pci?.node,
    localCpus: pci?.localCpus,
    ...readLink(files, folder),
    ...queues,
    rxSteering,
    txSteering,
    vectors: readVectors(files, { name, driver, ifindex, pci, ...queues }, context, netdev),
    statistics: readStatistics(files, folder),
    ethtool,
  };
}

/** The device's folder by the interface's own place, `…/0000:06:00.0/net/eth1`. */
function deviceAbove(folder: string): string | undefined {
  const match = /^(\/sys\/devices\/(?!virtual\/).+)\/net\/[^/]+$/.exec(folder);
  return match?.[1];
}

function readLink(files: HostFiles, folder: string) {
  const carrier = readNumber(files, `${folder}/carrier`);
  const speed = readNumber(files, `${folder}/speed`);
  const threaded = readNumber(files, `${folder}/threaded`);
  return {
    macAddress: readLine(files, `${folder}/address`),
    operState: readLine(files, `${folder}/operstate`),
    hasCarrier: carrier === undefined ? undefined : carrier === 1,
    carrierChanges: readNumber(files, `${folder}/carrier_changes`),
    speedMbps: speed === undefined || speed <= 0 ? undefined : speed,
    mtu: readNumber(files, `${folder}/mtu`),
    isThreadedNapi: threaded === undefined ? undefined : threaded > 0,
    groFlushTimeoutNs: readNumber(files, `${folder}/gro_flush_timeout`),
    napiDeferHardIrqs: readNumber(files, `${folder}/napi_defer_hard_irqs`),
  };
}

function queueNumbers(files: HostFiles, folder: string, prefix: 'rx' | 'tx'): number[] {
  const names = files.list(`${folder}/queues`).filter((name) => name.startsWith(`${prefix}-`));
  return names.map((name) => Number(name.slice(3))).sort((a, b) => a - b);
}

function readRxSteering(files: HostFiles, folder: string): RxQueueSteering[] {
  return queueNumbers(files, folder, 'rx').map((queue) => ({
    queue,
    rpsCpus: readCpuMask(files, `${folder}/queues/rx-${queue}/rps_cpus`),
    rfsFlowCount: readNumber(files, `${folder}/queues/rx-${queue}/rps_flow_cnt`),
  }));
}

function readTxSteering(files: HostFiles, folder: string): TxQueueSteering[] {
  return queueNumbers(files, folder, 'tx').map((queue) => ({
    queue,
    xpsCpus: readCpuMask(files, `${folder}/queues/tx-${queue}/xps_cpus`),
    xpsRxQueues: readCpuMask(files, `${folder}/queues/tx-${queue}/xps_rxqs`),
  }));
}

interface VectorContext {
  readonly name: string;
  readonly driver: string | undefined;
  readonly ifindex: number | undefined;
  readonly pci: PciDevice | undefined;
  readonly rxQueueCount: number | undefined;
  readonly txQueueCount: number | undefined;
}

function readVectors(
  files: HostFiles,
  nic: VectorContext,
  context: NicContext,
  netdev: NetdevQueues | undefined,
): readonly NicVector[] {
  const irqByNumber = new Map(context.irqs.map((irq) => [irq.irq, irq]));
  const { vectors, conflicts } = nameVectors(
    {
      ...nic,
      irqs: vectorIrqs(nic.pci, context.irqs),
      nameOf: (irq) => irqByNumber.get(irq)?.actions?.[0],
      indexOf: (irq) => irqByNumber.get(irq)?.vectorIndex,
    },
    netdev,
  );
  for (const conflict of conflicts) files.gaps.push({ path: `nic ${nic.name}`, reason: conflict });
  return vectors;
}

/** By the device's own list and by the addresses in the interrupt table: either may lack some. */
function vectorIrqs(pci: PciDevice | undefined, irqs: readonly Irq[]): readonly number[] {
  if (pci === undefined) return [];
  const inTable = irqs.flatMap((line) => (line.pciAddress === pci.address ? [line.irq] : []));
  return sortCpus(new Set([...pci.msiIrqs, ...inTable]));
}

function readStatistics(files: HostFiles, folder: string): Record<string, number> {
  const statistics: Record<string, number> = {};
  for (const name of files.list(`${folder}/statistics`)) {
    const value = readNumber(files, `${folder}/statistics/${name}`);
    if (value !== undefined) statistics[name] = value;
  }
  return statistics;
}

/** CPUs of a NIC's queue vectors, and how sure that is. */
export interface NicIrqCpus {
  readonly cpus: readonly number[];
  /**
   * `effective`: where they are delivered. `requested`: of some only the wish is known, and one CPU
   * of it is used. `unknown`: of some nothing is known.
   */
  readonly certainty: 'effective' | 'requested' | 'unknown';
}

/** The management vector is left out; without any queue vector nothing is known. */
export function nicIrqCpus(nic: Nic, irqs: readonly Irq[]): NicIrqCpus {
  const queueIrqs = new Set(
    nic.vectors
      .filter(({ role }) => role !== 'management' && role !== 'unused')
      .map(({ irq }) => irq),
  );
  const byNumber = new Map(irqs.map((irq) => [irq.irq, irq]));
  const lines = [...queueIrqs].map((irq) => byNumber.get(irq));
  const cpus = lines.flatMap((irq) => irq?.effective ?? irq?.requested ?? []);
  const isEffective = lines.every((irq) => irq?.effective !== undefined);
  const isRequested = lines.every((irq) => (irq?.effective ?? irq?.requested) !== undefined);
  const certainty = isEffective ? 'effective' : isRequested ? 'requested' : 'unknown';
  // gve vectors without a meaning: some of the device's list are missing.
  const isWhole = !nic.vectors.some(
    ({ role, source }) => role === 'unknown' && source === 'gve rule',
  );
  return {
    cpus: sortCpus(new Set(cpus)),
    certainty: lines.length === 0 || !isWhole ? 'unknown' : certainty,
  };
}
