// NICs as text for people. `?` is unknown, `-` is none.

import { formatCpuList } from '../base/cpu-set.js';
import type { CounterReport, NicReport, QueueReport } from '../host/nic/nic-report.js';
import { formatTable } from './print.js';

export function formatAmount(value: number | undefined): string {
  if (value === undefined) return '?';
  const units = ['', 'k', 'M', 'G', 'T', 'P'];
  let scaled = value;
  let unit = 0;
  while (scaled >= 10_000 && unit < units.length - 1) {
    scaled /= 1000;
    unit++;
  }
  const digits = unit === 0 || scaled >= 100 ? 0 : 1;
  return `${scaled.toFixed(digits)}${units[unit] ?? ''}`;
}

function list(cpus: readonly number[] | undefined): string {
  return cpus === undefined ? '?' : formatCpuList(cpus) || '-';
}

function linkText(nic: NicReport): string {
  if (nic.hasCarrier === undefined && nic.operState === undefined) return '?';
  const carrier = nic.hasCarrier === undefined ? '' : nic.hasCarrier ? ', link' : ', no link';
  return `${nic.operState ?? '?'}${carrier}`;
}

function speedText({ speedMbps }: NicReport): string {
  return speedMbps === undefined ? '?' : `${speedMbps / 1000} Gbit/s`;
}

function pcieText({ pcie }: NicReport): string {
  if (pcie === undefined) return '?';
  return `x${pcie.width} at ${pcie.speedGTps} GT/s, ${pcie.gigabytesPerSecond.toFixed(1)} GB/s`;
}

function counterOf(nic: NicReport, name: string): CounterReport | undefined {
  return nic.counters.find((counter) => counter.name === name);
}

/** One line per NIC. */
export function formatNicList(nics: readonly NicReport[]): string {
  const rows = nics.map((nic) => [
    nic.name,
    nic.driver ?? (nic.isVirtual ? 'virtual' : '?'),
    nic.pciAddress ?? (nic.isVirtual ? '-' : '?'),
    nic.isVirtual ? '-' : String(nic.node ?? '?'),
    nic.isVirtual ? '-' : pcieText(nic),
    linkText(nic),
    speedText(nic),
    String(nic.mtu ?? '?'),
    ringsText(nic),
    formatAmount(counterOf(nic, 'rx_bytes')?.perSecond),
    formatAmount(counterOf(nic, 'tx_bytes')?.perSecond),
  ]);
  const heading = ['NIC', 'driver', 'PCI', 'NUMA', 'PCIe', 'link', 'speed', 'MTU', 'rings'];
  return formatTable([[...heading, 'RX B/s', 'TX B/s'], ...rows]);
}

function ringsText({ rings }: NicReport): string {
  return rings === undefined ? '?' : `${rings.rx}/${rings.tx}`;
}

const SHOWN_OFFLOADS = [
  'tx-tcp-segmentation',
  'tx-generic-segmentation',
  'rx-gro',
  'rx-gro-hw',
  'rx-lro',
  'rx-ntuple-filter',
  'rx-hashing',
  'rx-checksum',
  'tx-checksum-ip-generic',
] as const;

function coalesceText(coalesce: NicReport['coalesce']): string {
  if (coalesce === undefined) return '?';
  const adaptive = (isAdaptive: boolean): string => (isAdaptive ? ', adaptive' : '');
  return (
    `RX ${coalesce.rxUsecs} µs or ${coalesce.rxFrames} frames${adaptive(coalesce.isAdaptiveRx)}; ` +
    `TX ${coalesce.txUsecs} µs or ${coalesce.txFrames} frames${adaptive(coalesce.isAdaptiveTx)}`
  );
}

export function formatNic(nic: NicReport, isLong: boolean): string {
  const { channels, rings, coalesce } = nic;
  const facts: readonly (readonly [string, string])[] = [
    ['driver', `${nic.driver ?? '?'} ${nic.driverVersion ?? ''}`.trim()],
    ['PCI', `${nic.pciAddress ?? '?'}, NUMA node ${nic.node ?? '?'}, ${pcieText(nic)}`],
    ['link', `${linkText(nic)}, ${speedText(nic)}, MTU ${nic.mtu ?? '?'}`],
    ['address', [nic.macAddress ?? '?', ...(nic.addresses ?? ['?'])].join(', ')],
    [
      'channels',
      channels === undefined
        ? '?'
        : `RX ${channels.rx} of ${channels.rxMax}, TX ${channels.tx} of ${channels.txMax}, ` +
          `combined ${channels.combined} of ${channels.combinedMax}`,
    ],
    [
      'rings',
      rings === undefined
        ? '?'
        : `RX ${rings.rx} of ${rings.rxMax}, TX ${rings.tx} of ${rings.txMax}, ` +
          `header split ${rings.tcpDataSplit ?? '?'}`,
    ],
    ['coalescing', coalesceText(coalesce)],
    ['offloads', offloadText(nic, isLong)],
    ['flags', flagText(nic)],
    ['RSS', rssText(nic)],
    ['NAPI', nic.isThreadedNapi === undefined ? '?' : nic.isThreadedNapi ? 'threaded' : 'softirq'],
  ];
  const head = facts.map(([name, text]) => `  ${name.padEnd(11)} ${text}\n`).join('');
  const unknown = nic.unknown.length === 0 ? '' : `  not told    ${nic.unknown.join(', ')}\n`;
  const tables = queueText(nic, isLong) + counterText(nic, isLong) + softnetText(nic);
  return `${nic.name}\n${head}${unknown}\n${tables}`;
}

function offloadText({ offloads }: NicReport, isLong: boolean): string {
  const names = isLong ? Object.keys(offloads) : SHOWN_OFFLOADS.filter((name) => name in offloads);
  if (Object.keys(offloads).length === 0) return '?';
  return names.map((name) => `${name} ${offloads[name] ?? '?'}`).join('; ');
}

function flagText({ privateFlags }: NicReport): string {
  const flags = Object.entries(privateFlags);
  if (flags.length === 0) return 'none told';
  return flags.map(([name, isOn]) => `${name} ${isOn ? 'on' : 'off'}`).join('; ');
}

function rssText({ rss }: NicReport): string {
  if (rss === undefined) return '?';
  const entries = rss.reduce((sum, share) => sum + share.entries, 0);
  const most = Math.max(...rss.map((share) => share.entries));
  const least = Math.min(...rss.map((share) => share.entries));
  const each = most === least ? `${most} each` : `${least} to ${most} each`;
  return `${entries} entries over queues ${formatCpuList(rss.map(({ queue }) => queue))}, ${each}`;
}

function isBusy(queue: QueueReport): boolean {
  return (queue.bytes ?? 0) > 0 || (queue.steeringCpus?.length ?? 0) > 0;
}

function queueText(nic: NicReport, isLong: boolean): string {
  const shown = nic.queues.filter((queue) => isLong || isBusy(queue));
  const hidden = nic.queues.length - shown.length;
  const rest =
    hidden === 0 ? '' : `${hidden} queues show neither bytes nor steering; --all lists them\n`;
  if (shown.length === 0) return rest === '' ? '' : `${rest}\n`;
  const rows = shown.map((queue) => [
    queue.name,
    formatAmount(queue.bytes),
    formatAmount(queue.bytesPerSecond),
    String(queue.irq ?? '?'),
    list(queue.irqCpus),
    list(queue.steeringCpus),
  ]);
  const heading = ['queue', 'bytes', 'B/s', 'IRQ', 'IRQ CPUs', 'RPS/XPS CPUs'];
  return `${formatTable([heading, ...rows])}${rest}\n`;
}

function counterText(nic: NicReport, isLong: boolean): string {
  const shown = nic.counters.filter(
    ({ name, total }) => isLong || (total > 0 && !name.startsWith('adminq_')),
  );
  if (shown.length === 0) return '';
  const rows = shown.map(({ name, total, perSecond, countedBy }) => [
    name,
    String(total),
    formatAmount(perSecond),
    countedBy,
  ]);
  return `${formatTable([['counter', 'since', 'per second', 'from'], ...rows])}\n`;
}

function softnetText(nic: NicReport): string {
  if (nic.softnet.length === 0) return '';
  const rows = nic.softnet.map((cpu) => [
    String(cpu.cpu),
    String(cpu.processed),
    formatAmount(cpu.processedPerSecond),
    String(cpu.dropped),
    String(cpu.timeSqueeze),
  ]);
  return formatTable([['softnet CPU', 'packets', 'per second', 'dropped', 'squeezed'], ...rows]);
}
