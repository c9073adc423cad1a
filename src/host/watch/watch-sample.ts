// One reading of the counters that `tcpx watch` shows. Made to be cheap on a large host: a small
// file per interrupt of the NICs watched, never the whole interrupt table while those exist.

import { readNumber } from '../read/field-text.js';
import type { HostFiles } from '../read/host-files.js';
import { parseInterrupts } from '../read/interrupts.js';
import { parsePerCpuCount } from '../read/irqs.js';
import {
  type CpuTimes,
  parseCpuTimes,
  parseNamedCounters,
  parseNetDev,
  parseSoftnetStat,
} from '../read/kernel-counters.js';
import type { HostModel, Nic } from '../read/model.js';
import type { StatisticsSource } from '../read/nic-statistics.js';
import { parseQueueCounter } from '../read/queue-counter.js';

/** Of an interface of the host, or of the plugin emulator. */
export interface WatchedNic extends Pick<Nic, 'name' | 'ifindex' | 'vectors' | 'speedMbps'> {
  /** All that is known of it are its statistics. */
  readonly isEmulated?: boolean;
}

export interface WatchWish {
  readonly nics: readonly WatchedNic[];
  /** Driver statistics to show, exact or with a trailing `*`. */
  readonly counters: readonly string[];
  readonly hasQueues: boolean;
  readonly hasIrqs: boolean;
  readonly hasCpus: boolean;
}

export interface WatchSample {
  readonly atUs: number;
  readonly nics: Readonly<Record<string, NicSample>>;
  readonly tcp: Readonly<Record<string, number>>;
  /** Sums over all CPUs; empty when the file cannot be read. */
  readonly softnet: Readonly<Record<string, number>>;
  readonly cpus: readonly CpuTimes[];
}

export interface NicSample {
  readonly isEmulated: boolean;
  readonly speedMbps: number | undefined;
  /** Totals of the interface: the kernel's, else the driver's. */
  readonly totals: Readonly<Record<string, number>>;
  /** Chosen driver statistics. */
  readonly counters: Readonly<Record<string, number>>;
  /** Bytes by `rx 8`, `tx 3`. */
  readonly queues: Readonly<Record<string, number>>;
  /** Interrupts of the NIC's vectors by CPU. */
  readonly irqsByCpu: Readonly<Record<number, number>>;
  /** When those were read: with the whole table as source, not at every sample. */
  readonly irqsAtUs: number;
}

const TOTALS = ['rx_bytes', 'tx_bytes', 'rx_packets', 'tx_packets', 'rx_dropped', 'tx_dropped'];
const TCP_NAMES = ['RetransSegs', 'InSegs', 'OutSegs', 'InErrs'];
/** The interrupt table of a large host is re-read at most this often. */
const TABLE_INTERVAL_US = 1_000_000;

export class WatchSampler {
  private readonly files: HostFiles;
  private readonly wish: WatchWish;
  private readonly possible: readonly number[];
  private readonly statistics: StatisticsSource;
  private tableAtUs = Number.NEGATIVE_INFINITY;
  private table: ReadonlyMap<number, Readonly<Record<number, number>>> = new Map();

  constructor(files: HostFiles, model: HostModel, statistics: StatisticsSource, wish: WatchWish) {
    this.files = files;
    this.wish = wish;
    this.possible = model.cpus.possible;
    this.statistics = statistics;
  }

  read(atUs: number): WatchSample {
    const netlinkQueues = this.wish.hasQueues ? this.statistics.queueBytes() : [];
    // One file for all interfaces, and of this process's namespace; sysfs may show another.
    const totals = parseNetDev(this.files.read('/proc/net/dev') ?? '');
    const nics: Record<string, NicSample> = {};
    for (const nic of this.wish.nics) {
      const statistics = this.statistics.read(nic.name);
      const queues = this.wish.hasQueues ? queueBytes(statistics) : {};
      if (this.wish.hasQueues && Object.keys(queues).length === 0) {
        for (const { ifindex, type, queue, bytes } of netlinkQueues) {
          if (ifindex === nic.ifindex) queues[`${type} ${queue}`] = bytes;
        }
      }
      const isEmulated = nic.isEmulated === true;
      nics[nic.name] = {
        isEmulated,
        speedMbps: nic.speedMbps,
        totals: {
          ...pick(statistics, TOTALS),
          ...(isEmulated ? {} : (totals.get(nic.name) ?? this.readTotals(nic.name))),
        },
        counters: chooseCounters(statistics, this.wish.counters),
        queues,
        ...(this.wish.hasIrqs ? this.readIrqs(nic, atUs) : { irqsByCpu: {}, irqsAtUs: atUs }),
      };
    }
    const snmp = parseNamedCounters(this.files.read('/proc/net/snmp') ?? '', 'Tcp');
    const cpus = this.wish.hasCpus ? parseCpuTimes(this.files.read('/proc/stat') ?? '') : [];
    const softnet = sumSoftnet(this.files.read('/proc/net/softnet_stat') ?? '');
    return { atUs, nics, tcp: pick(snmp, TCP_NAMES), softnet, cpus };
  }

  private readTotals(name: string): Record<string, number> {
    const totals: Record<string, number> = {};
    for (const total of TOTALS) {
      const value = readNumber(this.files, `/sys/class/net/${name}/statistics/${total}`);
      if (value !== undefined) totals[total] = value;
    }
    return totals;
  }

  private readIrqs(nic: WatchedNic, atUs: number): Pick<NicSample, 'irqsByCpu' | 'irqsAtUs'> {
    let irqsAtUs = atUs;
    const sum: Record<number, number> = {};
    for (const { irq, role } of nic.vectors) {
      if (role === 'management' || role === 'unused') continue;
      const text = this.files.read(`/sys/kernel/irq/${irq}/per_cpu_count`);
      const counts =
        text === undefined ? this.tableRow(irq, atUs) : parsePerCpuCount(text, this.possible);
      if (text === undefined) irqsAtUs = this.tableAtUs;
      for (const [cpu, count] of Object.entries(counts)) {
        sum[Number(cpu)] = (sum[Number(cpu)] ?? 0) + count;
      }
    }
    return { irqsByCpu: sum, irqsAtUs };
  }

  private tableRow(irq: number, atUs: number): Readonly<Record<number, number>> {
    if (atUs - this.tableAtUs >= TABLE_INTERVAL_US) {
      const { rows } = parseInterrupts(this.files.read('/proc/interrupts') ?? '');
      this.table = new Map(rows.map((row) => [row.irq ?? -1, row.countByCpu]));
      this.tableAtUs = atUs;
    }
    return this.table.get(irq) ?? {};
  }
}

function sumSoftnet(text: string): Record<string, number> {
  const cpus = parseSoftnetStat(text);
  if (cpus.length === 0) return {};
  const sum = (name: 'processed' | 'dropped' | 'timeSqueeze') =>
    cpus.reduce((total, cpu) => total + cpu[name], 0);
  return { processed: sum('processed'), dropped: sum('dropped'), timeSqueeze: sum('timeSqueeze') };
}

function queueBytes(statistics: Readonly<Record<string, number>>): Record<string, number> {
  const queues: Record<string, number> = {};
  for (const [name, value] of Object.entries(statistics)) {
    const counter = parseQueueCounter(name);
    if (counter !== undefined) queues[`${counter.direction} ${counter.queue}`] = value;
  }
  return queues;
}

export function chooseCounters(
  statistics: Readonly<Record<string, number>>,
  wanted: readonly string[],
): Record<string, number> {
  const isWanted = (name: string) =>
    wanted.some((pattern) =>
      pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
    );
  return Object.fromEntries(Object.entries(statistics).filter(([name]) => isWanted(name)));
}

function pick(
  values: Readonly<Record<string, number>>,
  names: readonly string[],
): Record<string, number> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
}
