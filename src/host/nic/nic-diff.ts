// What moved between two snapshots of a host: bytes, packets, device-memory packets and drops of
// each NIC and queue, and interrupts per vector and core. Pure.

import type { HostModel, Irq, Nic, NicVector } from '../read/model.js';
import { isDropName, parseQueueStatistic } from '../read/queue-counter.js';
import {
  type CounterGrowth,
  type Counters,
  growthBetween,
  growthOf,
  sumKnown,
} from './counter-growth.js';

export interface NicDiff {
  readonly nic: string;
  readonly rx: FlowDiff;
  readonly tx: FlowDiff;
  /** Queues of both directions and vectors that serve none, in order. */
  readonly parts: readonly PartDiff[];
  /** Every counter of drops that grew, by its own name. */
  readonly drops: Counters;
  /** What makes the figures doubtful. */
  readonly notes: readonly string[];
}

/** Each undefined where a snapshot does not say. */
export interface FlowDiff {
  readonly bytes: number | undefined;
  readonly packets: number | undefined;
  readonly devmemPackets: number | undefined;
  readonly drops: number | undefined;
}

export interface PartDiff extends FlowDiff {
  readonly direction: 'rx' | 'tx' | undefined;
  /** undefined for a vector that serves no one queue. */
  readonly queue: number | undefined;
  readonly irq: number | undefined;
  /** Interrupts by CPU; undefined when they were not counted in both, or were reset. */
  readonly interrupts: Readonly<Record<number, number>> | undefined;
}

export function diffNics(
  before: HostModel,
  after: HostModel,
  names: readonly string[],
): readonly NicDiff[] {
  return names.map((name) => {
    const earlier = before.nics.find((nic) => nic.name === name);
    const later = after.nics.find((nic) => nic.name === name);
    if (earlier === undefined || later === undefined) return missingNic(name, earlier, later);
    return diffNic(earlier, later, irqGrowth(before.irqs, after.irqs));
  });
}

const NOTHING: FlowDiff = {
  bytes: undefined,
  packets: undefined,
  devmemPackets: undefined,
  drops: undefined,
};

function missingNic(name: string, earlier: Nic | undefined, later: Nic | undefined): NicDiff {
  const where =
    earlier === undefined && later === undefined
      ? 'either'
      : later === undefined
        ? 'the second'
        : 'the first';
  const notes = [`not in ${where} snapshot`];
  return { nic: name, rx: NOTHING, tx: NOTHING, parts: [], drops: {}, notes };
}

type IrqGrowth = ReadonlyMap<number, Readonly<Record<number, number>> | 'reset'>;

function irqGrowth(before: readonly Irq[], after: readonly Irq[]): IrqGrowth {
  const earlier = new Map(before.map((irq) => [irq.irq, irq]));
  const growth = new Map<number, Readonly<Record<number, number>> | 'reset'>();
  for (const irq of after) {
    const old = earlier.get(irq.irq);
    if (old?.countByCpu === undefined || irq.countByCpu === undefined) continue;
    if (old.pciAddress !== irq.pciAddress || old.vectorIndex !== irq.vectorIndex) continue;
    growth.set(irq.irq, countsBetween(old.countByCpu, irq.countByCpu));
  }
  return growth;
}

// Zeros are left out of both: a CPU without an entry has the count zero.
function countsBetween(
  before: Readonly<Record<number, number>>,
  after: Readonly<Record<number, number>>,
): Readonly<Record<number, number>> | 'reset' {
  const grown: Record<number, number> = {};
  for (const cpu of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const change = (after[Number(cpu)] ?? 0) - (before[Number(cpu)] ?? 0);
    if (change < 0) return 'reset';
    if (change > 0) grown[Number(cpu)] = change;
  }
  return grown;
}

function diffNic(before: Nic, after: Nic, interrupts: IrqGrowth): NicDiff {
  const driver = growthBetween(before.ethtool?.statistics ?? {}, after.ethtool?.statistics ?? {});
  const kernel = growthBetween(before.statistics, after.statistics);
  const drops: Record<string, number> = {};
  for (const [name, count] of Object.entries({ ...kernel.grown, ...driver.grown })) {
    if (count > 0 && isDropName(name)) drops[name] = count;
  }
  return {
    nic: after.name,
    rx: totals('rx', kernel.grown, driver.grown),
    tx: totals('tx', kernel.grown, driver.grown),
    parts: [
      ...queueParts(after, queueGrowth(before, after, driver.grown), interrupts),
      ...otherParts(after, interrupts),
    ],
    drops,
    notes: notesOf(before, after, driver, interrupts),
  };
}

function totals(direction: 'rx' | 'tx', kernel: Counters, driver: Counters): FlowDiff {
  const own = Object.keys({ ...kernel, ...driver }).filter((name) => {
    const isQueue = parseQueueStatistic(name) !== undefined;
    return name.startsWith(`${direction}_`) && isDropName(name) && !isQueue;
  });
  return {
    bytes: driver[`${direction}_bytes`] ?? kernel[`${direction}_bytes`],
    packets: driver[`${direction}_packets`] ?? kernel[`${direction}_packets`],
    devmemPackets: driver[`${direction}_devmem_pkts`],
    drops: sumKnown(own.map((name) => driver[name] ?? kernel[name])),
  };
}

/** Bytes per queue of the driver, else those that the kernel counts. */
function queueGrowth(before: Nic, after: Nic, driver: Counters): Counters {
  const named = ({ queueBytes }: Nic) =>
    Object.fromEntries(
      queueBytes.map(({ direction, queue, bytes }) => [`${direction}_bytes[${queue}]`, bytes]),
    );
  return { ...growthBetween(named(before), named(after)).grown, ...driver };
}

function queueParts(nic: Nic, grown: Counters, interrupts: IrqGrowth): readonly PartDiff[] {
  const byQueue = new Map<string, Record<string, number>>();
  for (const [name, count] of Object.entries(grown)) {
    const parsed = parseQueueStatistic(name);
    if (parsed === undefined) continue;
    const key = `${parsed.direction} ${parsed.queue}`;
    const known = byQueue.get(key) ?? {};
    known[parsed.what] = count;
    byQueue.set(key, known);
  }
  for (const vector of nic.vectors) {
    for (const key of queuesOf(vector)) if (!byQueue.has(key)) byQueue.set(key, {});
  }
  const parts = [...byQueue].map(([key, counts]) => {
    const [direction = '', number = ''] = key.split(' ');
    const vector = nic.vectors.find((candidate) => queuesOf(candidate).includes(key));
    const dropNames = Object.keys(counts).filter(isDropName);
    return {
      direction: direction === 'tx' ? ('tx' as const) : ('rx' as const),
      queue: Number(number),
      irq: vector?.irq,
      bytes: counts['bytes'],
      packets: counts['packets'] ?? counts['pkts'],
      devmemPackets: counts['devmem_pkts'],
      drops: sumKnown(dropNames.map((name) => counts[name])),
      interrupts: vector === undefined ? undefined : countsOf(interrupts, vector.irq),
    };
  });
  return parts.sort((a, b) => a.direction.localeCompare(b.direction) || a.queue - b.queue);
}

/** A vector of a pair counts on its receiving queue, so that it is counted once. */
function queuesOf({ role, queue }: NicVector): readonly string[] {
  if (queue === undefined) return [];
  return role === 'tx' ? [`tx ${queue}`] : role === 'rx' || role === 'rxtx' ? [`rx ${queue}`] : [];
}

function countsOf(interrupts: IrqGrowth, irq: number) {
  const counts = interrupts.get(irq);
  return counts === 'reset' ? undefined : counts;
}

function otherParts(nic: Nic, interrupts: IrqGrowth): readonly PartDiff[] {
  const others = nic.vectors.filter((vector) => queuesOf(vector).length === 0);
  return others.map(({ irq }) => ({
    ...NOTHING,
    direction: undefined,
    queue: undefined,
    irq,
    interrupts: countsOf(interrupts, irq),
  }));
}

const RESETS = ['reset_cnt', 'interface_up_cnt'];

function notesOf(
  before: Nic,
  after: Nic,
  driver: CounterGrowth,
  interrupts: IrqGrowth,
): readonly string[] {
  const notes: string[] = [];
  for (const name of RESETS) {
    const count = driver.grown[name] ?? 0;
    if (count > 0) notes.push(`${name} grew by ${count}: vectors and bindings were made anew`);
  }
  if (driver.fell.length > 0) {
    notes.push(`${driver.fell.length} counters fell (${driver.fell.slice(0, 3).join(', ')})`);
  }
  const reset = after.vectors.filter(({ irq }) => interrupts.get(irq) === 'reset');
  if (reset.length > 0) notes.push(`${reset.length} interrupt lines began again`);
  if (Object.keys(after.ethtool?.statistics ?? {}).length === 0) {
    notes.push('no driver statistics: queues are not told apart');
  }
  const changes = growthOf(before.carrierChanges, after.carrierChanges);
  if (changes !== undefined && changes > 0) notes.push(`the link changed ${changes} times`);
  return notes;
}
