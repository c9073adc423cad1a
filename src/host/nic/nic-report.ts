// One NIC in full: what is set, what it counted, and how fast that grows. A value that the host
// does not tell is undefined and named under `unknown`. Pure.

import type { EthtoolChannels, EthtoolCoalesce, EthtoolRings } from '../read/ethtool-data.js';
import type { HostModel, Nic, PciDevice, SoftnetCpu, VectorRole } from '../read/model.js';
import { parseQueueStatistic } from '../read/queue-counter.js';
import { type Counters, growthBetween, growthOf } from './counter-growth.js';

export interface NicReport {
  readonly name: string;
  readonly isVirtual: boolean;
  readonly driver: string | undefined;
  readonly driverVersion: string | undefined;
  readonly pciAddress: string | undefined;
  readonly node: number | undefined;
  readonly pcie: PcieLink | undefined;
  readonly operState: string | undefined;
  readonly hasCarrier: boolean | undefined;
  readonly carrierChanges: number | undefined;
  readonly speedMbps: number | undefined;
  readonly mtu: number | undefined;
  readonly macAddress: string | undefined;
  readonly addresses: readonly string[] | undefined;
  readonly channels: EthtoolChannels | undefined;
  readonly rings: EthtoolRings | undefined;
  readonly coalesce: EthtoolCoalesce | undefined;
  readonly offloads: Readonly<Record<string, 'on' | 'off' | 'on, fixed' | 'off, fixed'>>;
  readonly privateFlags: Readonly<Record<string, boolean>>;
  readonly isThreadedNapi: boolean | undefined;
  readonly rss: readonly RssShare[] | undefined;
  readonly queues: readonly QueueReport[];
  readonly counters: readonly CounterReport[];
  readonly softnet: readonly SoftnetReport[];
  /** What could not be read. */
  readonly unknown: readonly string[];
}

export interface PcieLink {
  readonly speedGTps: number;
  readonly width: number;
  /** What it carries each way, before the headers of its packets. */
  readonly gigabytesPerSecond: number;
}

export interface RssShare {
  readonly queue: number;
  readonly entries: number;
}

export interface QueueReport {
  /** `RX 8`. */
  readonly name: string;
  readonly direction: 'rx' | 'tx';
  readonly queue: number;
  readonly bytes: number | undefined;
  readonly bytesPerSecond: number | undefined;
  readonly irq: number | undefined;
  readonly irqCpus: readonly number[] | undefined;
  /** RPS of a receive queue, XPS of a send queue; empty is off, undefined is not told. */
  readonly steeringCpus: readonly number[] | undefined;
}

export interface CounterReport {
  readonly name: string;
  readonly countedBy: 'driver' | 'kernel';
  readonly total: number;
  readonly perSecond: number | undefined;
}

export interface SoftnetReport {
  readonly cpu: number;
  readonly processed: number;
  readonly dropped: number;
  readonly timeSqueeze: number;
  readonly processedPerSecond: number | undefined;
}

/** The same host some seconds earlier, for rates. */
export interface EarlierReading {
  readonly model: HostModel;
  readonly seconds: number;
}

export function reportNic(
  model: HostModel,
  nic: Nic,
  earlier: EarlierReading | undefined,
): NicReport {
  const pci = model.pci.find(({ address }) => address === nic.pciAddress);
  const before = earlier?.model.nics.find(({ name }) => name === nic.name);
  const seconds = earlier?.seconds;
  const data = nic.ethtool;
  const facts = {
    name: nic.name,
    isVirtual: nic.isVirtual,
    driver: nic.driver,
    driverVersion: data?.driver?.version,
    pciAddress: nic.pciAddress,
    node: nic.node,
    pcie: pcieLink(pci),
    operState: nic.operState,
    hasCarrier: nic.hasCarrier,
    carrierChanges: nic.carrierChanges,
    speedMbps: nic.speedMbps ?? data?.link?.speedMbps,
    mtu: nic.mtu,
    macAddress: nic.macAddress,
    addresses: nic.addresses?.map(({ address, prefixLength }) => `${address}/${prefixLength}`),
    channels: data?.channels,
    rings: data?.rings,
    coalesce: data?.coalesce,
    offloads: offloadsOf(nic),
    privateFlags: data?.privateFlags ?? {},
    isThreadedNapi: nic.isThreadedNapi,
    rss: rssShares(data?.rssTable),
    queues: queuesOf(model, nic, before, seconds),
    counters: countersOf(nic, before, seconds),
    softnet: softnetOf(model, nic, earlier),
  };
  return { ...facts, unknown: unknownParts(facts) };
}

/** 8b/10b coding up to 5 GT/s, 128b/130b from 8 on. */
function pcieLink(pci: PciDevice | undefined): PcieLink | undefined {
  const speedGTps = pci?.linkSpeedGTps;
  const width = pci?.linkWidth;
  if (speedGTps === undefined || width === undefined) return undefined;
  const share = speedGTps < 8 ? 8 / 10 : 128 / 130;
  return { speedGTps, width, gigabytesPerSecond: (speedGTps * width * share) / 8 };
}

function offloadsOf(nic: Nic): NicReport['offloads'] {
  const offloads: Record<string, 'on' | 'off' | 'on, fixed' | 'off, fixed'> = {};
  for (const [name, { isActive, isFixed }] of Object.entries(nic.ethtool?.features ?? {})) {
    offloads[name] = `${isActive ? 'on' : 'off'}${isFixed ? ', fixed' : ''}`;
  }
  return offloads;
}

function rssShares(table: readonly number[] | undefined): readonly RssShare[] | undefined {
  if (table === undefined) return undefined;
  const shares = new Map<number, number>();
  for (const queue of table) shares.set(queue, (shares.get(queue) ?? 0) + 1);
  return [...shares]
    .map(([queue, entries]) => ({ queue, entries }))
    .sort((a, b) => a.queue - b.queue);
}

function perSecond(
  before: number | undefined,
  after: number | undefined,
  seconds: number | undefined,
): number | undefined {
  const grown = growthOf(before, after);
  return grown === undefined || seconds === undefined ? undefined : grown / seconds;
}

/** Bytes by `rx 8`: the driver's, else the kernel's. */
function queueBytes(nic: Nic | undefined): Counters {
  const bytes: Record<string, number> = {};
  for (const { direction, queue, bytes: count } of nic?.queueBytes ?? []) {
    bytes[`${direction} ${queue}`] = count;
  }
  for (const [name, count] of Object.entries(nic?.ethtool?.statistics ?? {})) {
    const parsed = parseQueueStatistic(name);
    if (parsed?.what === 'bytes') bytes[`${parsed.direction} ${parsed.queue}`] = count;
  }
  return bytes;
}

function queuesOf(
  model: HostModel,
  nic: Nic,
  before: Nic | undefined,
  seconds: number | undefined,
): readonly QueueReport[] {
  const bytes = queueBytes(nic);
  const earlier = queueBytes(before);
  const keys = new Set(Object.keys(bytes));
  for (const { queue } of nic.rxSteering) keys.add(`rx ${queue}`);
  for (const { queue } of nic.txSteering) keys.add(`tx ${queue}`);
  for (const { role, queue } of nic.vectors) {
    if (queue === undefined) continue;
    for (const direction of directionsOf(role)) keys.add(`${direction} ${queue}`);
  }
  const queues = [...keys].map((key): QueueReport => {
    const direction = key.startsWith('tx') ? 'tx' : 'rx';
    const queue = Number(key.slice(3));
    const vector = nic.vectors.find(
      (candidate) => candidate.queue === queue && directionsOf(candidate.role).includes(direction),
    );
    const line = model.irqs.find(({ irq }) => irq === vector?.irq);
    return {
      name: `${direction.toUpperCase()} ${queue}`,
      direction,
      queue,
      bytes: bytes[key],
      bytesPerSecond: perSecond(earlier[key], bytes[key], seconds),
      irq: vector?.irq,
      irqCpus: line?.effective ?? line?.requested,
      steeringCpus:
        direction === 'rx'
          ? nic.rxSteering.find((steering) => steering.queue === queue)?.rpsCpus
          : nic.txSteering.find((steering) => steering.queue === queue)?.xpsCpus,
    };
  });
  return queues.sort((a, b) => a.direction.localeCompare(b.direction) || a.queue - b.queue);
}

function directionsOf(role: VectorRole): readonly ('rx' | 'tx')[] {
  if (role === 'rxtx') return ['rx', 'tx'];
  return role === 'rx' || role === 'tx' ? [role] : [];
}

/** Of the whole device; what queues count is told with them. */
function countersOf(
  nic: Nic,
  before: Nic | undefined,
  seconds: number | undefined,
): readonly CounterReport[] {
  const driver = nic.ethtool?.statistics ?? {};
  const list = (countedBy: 'driver' | 'kernel', now: Counters, earlier: Counters) => {
    const { grown } = growthBetween(earlier, now);
    return Object.entries(now).map(([name, total]): CounterReport => {
      const count = grown[name];
      const rate = count === undefined || seconds === undefined ? undefined : count / seconds;
      return { name, countedBy, total, perSecond: rate };
    });
  };
  return [
    ...list('driver', driver, before?.ethtool?.statistics ?? {}).filter(
      ({ name }) => parseQueueStatistic(name) === undefined,
    ),
    ...list('kernel', nic.statistics, before?.statistics ?? {}).filter(
      ({ name }) => driver[name] === undefined,
    ),
  ];
}

/** Of the CPUs that take the NIC's interrupts; of all where those are not known. */
function softnetOf(
  model: HostModel,
  nic: Nic,
  earlier: EarlierReading | undefined,
): readonly SoftnetReport[] {
  const irqs = new Set(nic.vectors.map(({ irq }) => irq));
  const lines = model.irqs.filter(({ irq }) => irqs.has(irq));
  const cpus = new Set(lines.flatMap((line) => line.effective ?? line.requested ?? []));
  const before = new Map<number, SoftnetCpu>(
    (earlier?.model.softnet ?? []).map((cpu) => [cpu.cpu, cpu]),
  );
  return model.softnet
    .filter(({ cpu }) => cpus.size === 0 || cpus.has(cpu))
    .map(({ cpu, processed, dropped, timeSqueeze }) => ({
      cpu,
      processed,
      dropped,
      timeSqueeze,
      processedPerSecond: perSecond(before.get(cpu)?.processed, processed, earlier?.seconds),
    }));
}

function unknownParts(facts: Omit<NicReport, 'unknown'>): readonly string[] {
  const parts: readonly (readonly [string, unknown])[] = [
    ['driver', facts.driver],
    ['PCI address', facts.pciAddress],
    ['NUMA node', facts.node],
    ['PCIe link', facts.pcie],
    ['link state', facts.hasCarrier ?? facts.operState],
    ['speed', facts.speedMbps],
    ['MTU', facts.mtu],
    ['channels', facts.channels],
    ['rings', facts.rings],
    ['coalescing', facts.coalesce],
    ['offloads', Object.keys(facts.offloads)[0]],
    ['RSS table', facts.rss],
    ['counters', facts.counters[0]],
    ['softnet', facts.softnet[0]],
  ];
  return parts.filter(([, value]) => value === undefined).map(([name]) => name);
}
