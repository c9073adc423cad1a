// The rates of one interval as tables for a terminal.

import type { CpuRates, NicRates, Rate, WatchRates } from '../host/watch/watch-rates.js';
import { formatTable } from './print.js';

const CPU_ROWS_MAX = 16;
const QUEUE_ROWS_MAX = 24;

export function formatWatch(rates: WatchRates): string {
  const retransmits = formatRate(rates.tcp['RetransSegs']);
  const parts = [
    `${rates.time}  every ${rates.intervalMs} ms  TCP retransmits/s ${retransmits}`,
    formatTable(nicRows(rates)),
  ];
  const queues = queueRows(rates);
  if (queues.length > 1) parts.push(formatTable(queues));
  const irqs = irqRows(rates);
  if (irqs.length > 1) parts.push(formatTable(irqs));
  if (rates.cpus.length > 0) parts.push(formatTable(cpuRows(rates.cpus)));
  return parts.join('\n');
}

function nicRows(rates: WatchRates): string[][] {
  const counterNames = [
    ...new Set(Object.values(rates.nics).flatMap((nic) => Object.keys(nic.counters))),
  ];
  const head = ['NIC', 'RX GB/s', 'TX GB/s', 'RX pkt/s', 'TX pkt/s', 'drops/s'];
  const rows = Object.entries(rates.nics).map(([name, nic]) => [
    nic.evidence === undefined ? name : `${name} (${nic.evidence})`,
    formatGB(nic.totals['rx_bytes']),
    formatGB(nic.totals['tx_bytes']),
    formatRate(nic.totals['rx_packets']),
    formatRate(nic.totals['tx_packets']),
    formatRate(sumDrops(nic)),
    ...counterNames.map((counter) =>
      counter in nic.counters ? formatRate(nic.counters[counter]) : '-',
    ),
  ]);
  return [[...head, ...counterNames.map((name) => `${name}/s`)], ...rows];
}

function sumDrops(nic: NicRates): Rate {
  const drops = [nic.totals['rx_dropped'] ?? null, nic.totals['tx_dropped'] ?? null];
  return drops.every((drop) => drop === null) ? null : drops.reduce((a, b) => (a ?? 0) + (b ?? 0));
}

/** The busiest queues first; idle ones are not shown. */
function queueRows(rates: WatchRates): string[][] {
  const busy = Object.entries(rates.nics).flatMap(([nic, { queues }]) =>
    Object.entries(queues)
      .filter(([, rate]) => rate !== null && rate > 0)
      .map(([queue, rate]) => ({ nic, queue, rate: rate ?? 0 })),
  );
  busy.sort((a, b) => b.rate - a.rate);
  const rows = busy
    .slice(0, QUEUE_ROWS_MAX)
    .map(({ nic, queue, rate }) => [nic, queue, formatGB(rate)]);
  return [['NIC', 'queue', 'GB/s'], ...rows];
}

function irqRows(rates: WatchRates): string[][] {
  const rows = Object.entries(rates.nics).flatMap(([nic, { irqsByCpu }]) =>
    Object.entries(irqsByCpu)
      .filter(([, rate]) => rate !== null && rate > 0)
      .map(([cpu, rate]) => [nic, `CPU ${cpu}`, formatRate(rate)]),
  );
  return [['NIC', 'core', 'IRQ/s'], ...rows];
}

function cpuRows(cpus: readonly CpuRates[]): string[][] {
  const busiest = [...cpus].sort((a, b) => b.busyPercent - a.busyPercent).slice(0, CPU_ROWS_MAX);
  const rows = busiest.map((cpu) => [
    `CPU ${cpu.cpu}`,
    cpu.busyPercent.toFixed(0),
    cpu.softirqPercent.toFixed(0),
    cpu.irqPercent.toFixed(0),
  ]);
  return [['core', 'busy %', 'softirq %', 'irq %'], ...rows];
}

function formatRate(rate: Rate | undefined): string {
  if (rate === null || rate === undefined) return '?';
  return rate >= 100 || rate === 0 ? rate.toFixed(0) : rate.toFixed(1);
}

function formatGB(rate: Rate | undefined): string {
  return rate === null || rate === undefined ? '?' : (rate / 1e9).toFixed(3);
}
