// Samples the host while the command runs, once a second: counters as `tcpx watch` reads them,
// busy CPUs, interrupts of the NICs, and on which CPU each thread of the command was. Keeps its own
// cost below a percent of one core: where a sample costs more, the next comes later.

import { sleepMs, systemClock } from '../../base/clock.js';
import { allowedCpus, formatAllowed } from '../../host/irq/threads.js';
import type { HostFiles } from '../../host/read/host-files.js';
import type { HostModel } from '../../host/read/model.js';
import { type CpuRates, ratesBetween } from '../../host/watch/watch-rates.js';
import type { WatchedNic, WatchSample, WatchSampler } from '../../host/watch/watch-sample.js';
import type { BundleFileWriter, BundleWriter } from './bundle-writer.js';
import { readTree, type SeenThread, type ThreadStay } from './process-places.js';

export interface SamplerWish {
  readonly files: HostFiles;
  readonly model: HostModel;
  readonly nics: readonly WatchedNic[];
  readonly sampler: WatchSampler;
  readonly writer: BundleWriter;
  /** The machine-readable file: a line per sample. */
  readonly lines: BundleFileWriter | undefined;
  readonly intervalMs: number;
}

export interface SamplerReport {
  readonly count: number;
  readonly seconds: number;
  /** Share of one core that this process used while the command ran. */
  readonly overheadPercent: number;
  readonly threads: readonly ThreadStay[];
  readonly busyPercent: ReadonlyMap<number, number>;
  readonly softnet: Readonly<Record<string, number>>;
  readonly tcp: Readonly<Record<string, number>>;
}

/** The longest pause between samples that the cost or the limit of a bundle may lead to. */
const INTERVAL_MS_MAX = 60_000;
const COST_SHARE_MAX = 0.007;
/** Reading the whole table of a large host takes milliseconds: then only now and then. */
const TABLE_COST_MS_MAX = 2;
const TABLE_EVERY = 10;
const CPU_ROWS_MAX = 64;
const WARM_UPS = 5;
const BUSY_SHOWN_PERCENT = 1;

export class RunSampler {
  private readonly wish: SamplerWish;
  private readonly cpuFile: BundleFileWriter | undefined;
  private readonly irqFile: BundleFileWriter | undefined;
  private readonly nicFile: BundleFileWriter | undefined;
  private readonly stays = new Map<number, { thread: SeenThread; cpus: Map<number, number> }>();
  private readonly allowed = new Map<number, string>();
  private first: WatchSample;
  private last: WatchSample;
  private count = 0;
  private tableCostMs = 0;
  private intervalMs: number;
  private startUsage = process.cpuUsage();
  private startUs = systemClock.nowUs();

  constructor(wish: SamplerWish) {
    this.wish = wish;
    this.intervalMs = wish.intervalMs;
    const { hostname, kernelRelease, cpus } = wish.model;
    this.cpuFile = wish.writer.open('cpu_usage_during.txt');
    const day = new Date().toISOString().slice(0, 10);
    this.cpuFile?.write(
      `Linux ${kernelRelease ?? '?'} (${hostname ?? 'host'}) ${day} ` +
        `(${cpus.online.length} CPU)\n\n`,
    );
    this.irqFile = wish.writer.open('irq_during.txt');
    this.nicFile = wish.writer.open('nic_stats_during.txt');
    this.first = wish.sampler.read(systemClock.nowUs());
    this.last = this.first;
    // Compiles what samples need, before the command pays for it.
    for (let count = 0; count < WARM_UPS; count++) {
      ratesBetween(this.first, wish.sampler.read(systemClock.nowUs()), new Date());
      readTree(wish.files, process.pid);
    }
    this.writeTable();
  }

  /** Until the signal; the command's process is known by then. */
  async run(pid: number, signal: AbortSignal): Promise<void> {
    this.startUsage = process.cpuUsage();
    this.startUs = systemClock.nowUs();
    this.first = this.wish.sampler.read(this.startUs);
    this.last = this.first;
    while (!signal.aborted) {
      await sleepMs(this.intervalMs, signal);
      this.sample(pid);
    }
  }

  finish(): SamplerReport {
    const seconds = (systemClock.nowUs() - this.startUs) / 1e6;
    const used = process.cpuUsage(this.startUsage);
    const whole = ratesBetween(this.first, this.last, new Date());
    this.writeCpus(whole.cpus, 'Average:');
    this.writeTable();
    for (const file of [this.cpuFile, this.irqFile, this.nicFile]) file?.close();
    const grown = (before: Readonly<Record<string, number>>, after: typeof before) =>
      Object.fromEntries(
        Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? value)]),
      );
    return {
      count: this.count,
      seconds,
      overheadPercent: (used.user + used.system) / 1e4 / Math.max(seconds, 1e-3),
      threads: this.threadStays(),
      busyPercent: new Map(whole.cpus.map(({ cpu, busyPercent }) => [cpu, busyPercent])),
      softnet: grown(this.first.softnet, this.last.softnet),
      tcp: grown(this.first.tcp, this.last.tcp),
    };
  }

  private sample(pid: number): void {
    const before = process.cpuUsage();
    const time = new Date();
    const sample = this.wish.sampler.read(systemClock.nowUs());
    const rates = ratesBetween(this.last, sample, time);
    this.last = sample;
    this.count++;
    this.writeCpus(rates.cpus, time.toISOString().slice(11, 19));
    this.writeNics(sample, time);
    const isDue = this.tableCostMs < TABLE_COST_MS_MAX || this.count % TABLE_EVERY === 0;
    if (isDue) this.writeTable();
    const threads = this.seeThreads(pid);
    const line = { record: 'sample', time: time.toISOString(), sample, threads };
    const isKept = this.wish.lines?.write(`${JSON.stringify(line)}\n`) ?? false;
    const used = process.cpuUsage(before);
    this.pace((used.user + used.system) / 1000, isKept);
  }

  /** Slower where a sample costs too much, or where the bundle nears its limit. */
  private pace(costMs: number, isKept: boolean): void {
    const wanted = costMs / COST_SHARE_MAX;
    const isNearLimit = !isKept || this.wish.writer.leftBytes < this.usedBytes();
    const slower = isNearLimit ? this.intervalMs * 2 : this.wish.intervalMs;
    const intervalMs = Math.max(wanted, slower, this.wish.intervalMs);
    this.intervalMs = Math.min(INTERVAL_MS_MAX, intervalMs);
  }

  private usedBytes(): number {
    return this.wish.writer.files.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  private seeThreads(pid: number): Record<string, number> {
    const seen: Record<string, number> = {};
    for (const thread of readTree(this.wish.files, pid)) {
      const stay = this.stays.get(thread.tid) ?? { thread, cpus: new Map<number, number>() };
      stay.thread = thread;
      this.stays.set(thread.tid, stay);
      if (!this.allowed.has(thread.tid)) {
        const status = this.wish.files.read(`/proc/${thread.pid}/task/${thread.tid}/status`) ?? '';
        this.allowed.set(thread.tid, formatAllowed(allowedCpus(status)));
      }
      if (thread.cpu === undefined) continue;
      stay.cpus.set(thread.cpu, (stay.cpus.get(thread.cpu) ?? 0) + 1);
      seen[String(thread.tid)] = thread.cpu;
    }
    return seen;
  }

  private threadStays(): readonly ThreadStay[] {
    const stays = [...this.stays.values()].map(({ thread, cpus }) => ({
      thread,
      samplesByCpu: cpus,
      allowed: this.allowed.get(thread.tid) ?? 'N/A',
    }));
    return stays.sort((a, b) => b.thread.ticks - a.thread.ticks);
  }

  private writeCpus(cpus: readonly CpuRates[], time: string): void {
    // A large host has rows for its busy CPUs only; the averages at the end have all.
    const isWhole = cpus.length <= CPU_ROWS_MAX || time === 'Average:';
    const shown = isWhole ? cpus : cpus.filter((one) => one.busyPercent >= BUSY_SHOWN_PERCENT);
    const head = `${time.padEnd(10)} CPU   %busy    %irq   %soft   %idle\n`;
    const rows = shown.map(({ cpu, busyPercent, irqPercent, softirqPercent }) => {
      const cell = (percent: number) => percent.toFixed(2).padStart(8);
      const cells = [busyPercent, irqPercent, softirqPercent, 100 - busyPercent].map(cell);
      return `${time.padEnd(10)} ${String(cpu).padStart(3)}${cells.join('')}\n`;
    });
    this.cpuFile?.write(`${head}${rows.join('')}\n`);
  }

  private writeNics({ nics }: WatchSample, time: Date): void {
    const sections = Object.entries(nics).map(([name, { totals, counters }]) => {
      const lines = Object.entries({ ...totals, ...counters });
      return `=== ${name} ===\n${lines.map(([key, value]) => `     ${key}: ${value}\n`).join('')}`;
    });
    if (sections.length > 0) this.nicFile?.write(`${time.toISOString()}\n${sections.join('')}`);
  }

  /** The header and the lines of the NICs: the rest of the table is not of this run. */
  private writeTable(): void {
    const before = process.cpuUsage();
    const wanted = new Set(
      this.wish.nics.flatMap(({ vectors }) => vectors.map(({ irq }) => String(irq))),
    );
    const [head = '', ...lines] = (this.wish.files.read('/proc/interrupts') ?? '').split('\n');
    const rows = lines.filter((line) => wanted.has(line.slice(0, line.indexOf(':')).trim()));
    this.irqFile?.write(`${new Date().toISOString()}\n${head}\n${rows.join('\n')}\n`);
    const used = process.cpuUsage(before);
    this.tableCostMs = (used.user + used.system) / 1000;
  }
}
