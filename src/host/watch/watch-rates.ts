// Two samples into rates per second. Pure. A counter that fell was reset (driver reset, interface
// re-created): its rate is unknown for that interval, never negative.

import type { CpuTimes } from '../read/kernel-counters.js';
import type { NicSample, WatchSample } from './watch-sample.js';

export const WATCH_SCHEMA = 'tcpx.watch/2';

/** null = no rate: the counter was reset, appeared in between, or was not read again. */
export type Rate = number | null;

export interface WatchRates {
  readonly schema: typeof WATCH_SCHEMA;
  readonly time: string;
  readonly intervalMs: number;
  readonly nics: Readonly<Record<string, NicRates>>;
  /** Per second, of the whole network namespace. */
  readonly tcpRates: Readonly<Record<string, Rate>>;
  readonly softnetRates: Readonly<Record<string, Rate>>;
  readonly cpus: readonly CpuRates[];
}

export interface NicRates {
  /** A NIC of the plugin emulator, not of this host. */
  readonly evidence?: 'emulated';
  /** Since the counters began. */
  readonly totals: Readonly<Record<string, number>>;
  readonly counters: Readonly<Record<string, number>>;
  /** Per second. */
  readonly rates: Readonly<Record<string, Rate>>;
  readonly counterRates: Readonly<Record<string, Rate>>;
  /** Bytes per second by `rx 8`, `tx 3`. */
  readonly queueRates: Readonly<Record<string, Rate>>;
  readonly irqRatesByCpu: Readonly<Record<string, Rate>>;
  /** Share of the link's speed; null where either is unknown. */
  readonly linkPercent: { readonly rx: Rate; readonly tx: Rate };
}

export interface CpuRates {
  readonly cpu: number;
  readonly busyPercent: number;
  readonly irqPercent: number;
  readonly softirqPercent: number;
}

export function ratesBetween(before: WatchSample, after: WatchSample, time: Date): WatchRates {
  const seconds = (after.atUs - before.atUs) / 1e6;
  const nics: Record<string, NicRates> = {};
  for (const [name, sample] of Object.entries(after.nics)) {
    const earlier = before.nics[name];
    if (earlier !== undefined) nics[name] = nicRates(earlier, sample, seconds);
  }
  return {
    schema: WATCH_SCHEMA,
    time: time.toISOString(),
    intervalMs: Math.round(seconds * 1000),
    nics,
    tcpRates: rates(before.tcp, after.tcp, seconds),
    softnetRates: rates(before.softnet, after.softnet, seconds),
    cpus: cpuRates(before.cpus, after.cpus),
  };
}

function nicRates(before: NicSample, after: NicSample, seconds: number): NicRates {
  const irqSeconds = (after.irqsAtUs - before.irqsAtUs) / 1e6;
  const perSecond = rates(before.totals, after.totals, seconds);
  const percent = (name: string) => linkPercent(perSecond[name], after.speedMbps);
  return {
    ...(after.isEmulated ? { evidence: 'emulated' as const } : {}),
    totals: after.totals,
    counters: after.counters,
    rates: perSecond,
    counterRates: rates(before.counters, after.counters, seconds),
    queueRates: rates(before.queues, after.queues, seconds),
    // A CPU that appears had zero before: zeros are left out of the sample.
    irqRatesByCpu: rates(before.irqsByCpu, after.irqsByCpu, irqSeconds, 0),
    linkPercent: { rx: percent('rx_bytes'), tx: percent('tx_bytes') },
  };
}

const MEGABIT_BYTES = 125_000;

function linkPercent(bytesPerSecond: Rate | undefined, speedMbps: number | undefined): Rate {
  if (bytesPerSecond === undefined || bytesPerSecond === null) return null;
  return speedMbps === undefined ? null : (bytesPerSecond / (speedMbps * MEGABIT_BYTES)) * 100;
}

function rates(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
  seconds: number,
  absent?: number,
): Record<string, Rate> {
  const result: Record<string, Rate> = {};
  for (const [name, value] of Object.entries(after)) {
    const earlier = before[name] ?? absent;
    result[name] =
      earlier === undefined || value < earlier || seconds <= 0 ? null : (value - earlier) / seconds;
  }
  return result;
}

function cpuRates(before: readonly CpuTimes[], after: readonly CpuTimes[]): CpuRates[] {
  const earlier = new Map(before.map((times) => [times.cpu, times]));
  const result: CpuRates[] = [];
  for (const times of after) {
    const base = earlier.get(times.cpu);
    const total = times.totalTicks - (base?.totalTicks ?? 0);
    // Ticks are 10 ms: an interval without one says nothing.
    if (base === undefined || total <= 0) continue;
    const percent = (now: number, then: number) => Math.max(0, ((now - then) / total) * 100);
    result.push({
      cpu: times.cpu,
      busyPercent: percent(times.busyTicks, base.busyTicks),
      irqPercent: percent(times.irqTicks, base.irqTicks),
      softirqPercent: percent(times.softirqTicks, base.softirqTicks),
    });
  }
  return result;
}
