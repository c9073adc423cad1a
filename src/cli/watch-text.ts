// The rates of one interval as tables for a terminal.

import type { CpuRates, NicRates, Rate, WatchRates } from '../host/watch/watch-rates.js';
import { formatTable } from './print.js';

const CPU_ROWS_MAX = 16;
const IRQ_ROWS_MAX = 24;
/** Queues per row of a NIC's matrix. */
const QUEUE_COLUMNS = 16;

export function formatWatch(rates: WatchRates): string {
  const parts = [headLine(rates), formatTable(nicRows(rates))];
  const queues = queueMatrix(rates);
  if (queues !== '') parts.push(queues);
  const irqs = irqRows(rates);
  if (irqs.length > 0) parts.push(cutTable(['NIC', 'core', 'IRQ/s'], irqs, IRQ_ROWS_MAX));
  if (rates.cpus.length > 0) parts.push(cutTable(CPU_HEAD, cpuRows(rates.cpus), CPU_ROWS_MAX));
  return parts.join('\n');
}

/** The last table: what the intervals before it came to, on average. */
export function formatAverages(rates: WatchRates): string {
  const seconds = (rates.intervalMs / 1000).toFixed(1);
  return `\naverages over ${seconds} s\n${formatTable(nicRows(rates))}`;
}

function headLine({ time, intervalMs, tcpRates, softnetRates }: WatchRates): string {
  const softnet = ['processed', 'dropped', 'timeSqueeze'].map((name) => {
    return `${name === 'timeSqueeze' ? 'squeezed' : name} ${formatRate(softnetRates[name])}`;
  });
  const retransmits = formatRate(tcpRates['RetransSegs']);
  return (
    `${time}  every ${intervalMs} ms  TCP retransmits/s ${retransmits}  ` +
    `softnet/s ${softnet.join(', ')}`
  );
}

/** No row is left out without a word. */
function cutTable(head: readonly string[], rows: readonly string[][], max: number): string {
  const hidden = rows.length - max;
  const rest = hidden > 0 ? `and ${hidden} more rows; --json has all\n` : '';
  return `${formatTable([head, ...rows.slice(0, max)])}${rest}`;
}

function nicRows(rates: WatchRates): string[][] {
  const counterNames = [
    ...new Set(Object.values(rates.nics).flatMap((nic) => Object.keys(nic.counterRates))),
  ];
  const head = ['NIC', 'RX GB/s', '%', 'TX GB/s', '%', 'RX pkt/s', 'TX pkt/s', 'drops/s'];
  const rows = Object.entries(rates.nics).map(([name, nic]) => [
    nic.evidence === undefined ? name : `${name} (${nic.evidence})`,
    formatGB(nic.rates['rx_bytes']),
    formatPercent(nic.linkPercent.rx),
    formatGB(nic.rates['tx_bytes']),
    formatPercent(nic.linkPercent.tx),
    formatRate(nic.rates['rx_packets']),
    formatRate(nic.rates['tx_packets']),
    formatRate(sumDrops(nic)),
    ...counterNames.map((counter) =>
      counter in nic.counterRates ? formatRate(nic.counterRates[counter]) : '-',
    ),
  ]);
  return [[...head, ...counterNames.map((name) => `${name}/s`)], ...rows];
}

/** Both directions, or nothing: half a sum is no sum. */
function sumDrops({ rates }: NicRates): Rate {
  const rx = rates['rx_dropped'] ?? null;
  const tx = rates['tx_dropped'] ?? null;
  return rx === null || tx === null ? null : rx + tx;
}

/** One row per NIC and direction, one column per queue, in GB/s; all zeros are left out. */
function queueMatrix(rates: WatchRates): string {
  const rows = Object.entries(rates.nics).flatMap(([nic, { queueRates }]) =>
    ['rx', 'tx'].flatMap((direction) => queueLines(nic, direction, queueRates)),
  );
  if (rows.length === 0) return '';
  const width = Math.max(...rows.map((row) => row.length)) - 2;
  const columns = Array.from({ length: width }, (_, column) => `+${column}`);
  return formatTable([['queue GB/s', 'from', ...columns], ...rows]);
}

function queueLines(
  nic: string,
  direction: string,
  queueRates: NicRates['queueRates'],
): string[][] {
  const numbers = Object.keys(queueRates)
    .filter((name) => name.startsWith(`${direction} `))
    .map((name) => Number(name.slice(direction.length + 1)))
    .sort((a, b) => a - b);
  const last = numbers.at(-1);
  if (last === undefined) return [];
  const lines: string[][] = [];
  for (let first = 0; first <= last; first += QUEUE_COLUMNS) {
    const cells = Array.from({ length: Math.min(QUEUE_COLUMNS, last + 1 - first) }, (_, offset) => {
      const name = `${direction} ${first + offset}`;
      return name in queueRates ? formatGB(queueRates[name]) : '-';
    });
    lines.push([`${nic} ${direction}`, String(first), ...cells]);
  }
  return lines;
}

/** The busiest first; idle cores are not shown. */
function irqRows(rates: WatchRates): string[][] {
  const busy = Object.entries(rates.nics).flatMap(([nic, { irqRatesByCpu }]) =>
    Object.entries(irqRatesByCpu).flatMap(([cpu, rate]) =>
      rate === 0 ? [] : [{ nic, cpu, rate }],
    ),
  );
  busy.sort((a, b) => (b.rate ?? 0) - (a.rate ?? 0));
  return busy.map(({ nic, cpu, rate }) => [nic, `CPU ${cpu}`, formatRate(rate)]);
}

const CPU_HEAD = ['core', 'busy %', 'softirq %', 'irq %'];

function cpuRows(cpus: readonly CpuRates[]): string[][] {
  const busiest = [...cpus].sort((a, b) => b.busyPercent - a.busyPercent);
  return busiest.map((cpu) => [
    `CPU ${cpu.cpu}`,
    cpu.busyPercent.toFixed(0),
    cpu.softirqPercent.toFixed(0),
    cpu.irqPercent.toFixed(0),
  ]);
}

function formatRate(rate: Rate | undefined): string {
  if (rate === null || rate === undefined) return '?';
  return rate >= 100 || rate === 0 ? rate.toFixed(0) : rate.toFixed(1);
}

function formatGB(rate: Rate | undefined): string {
  return rate === null || rate === undefined ? '?' : (rate / 1e9).toFixed(3);
}

function formatPercent(rate: Rate): string {
  return rate === null ? '?' : rate.toFixed(0);
}

const ESCAPE = /\u001b\[[0-9;]*[A-Za-z]/g;

/** Rows that a text takes on a screen of so many columns: long lines wrap. */
export function screenRows(text: string, columns: number): number {
  const lines = text.replace(/\n$/, '').split('\n');
  return lines.reduce((rows, line) => {
    const width = line.replaceAll(ESCAPE, '').length;
    return rows + Math.max(1, Math.ceil(width / Math.max(1, columns)));
  }, 0);
}
