// NICs and what moved between two snapshots, as text for people. `?` is unknown, `-` is none.

import { formatCpuList } from '../base/cpu-set.js';
import type { NicDiff, PartDiff } from '../host/nic/nic-diff.js';
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
    [
      'coalescing',
      coalesce === undefined
        ? '?'
        : `RX ${coalesce.rxUsecs} µs or ${coalesce.rxFrames} frames` +
          `${coalesce.isAdaptiveRx ? ', adaptive' : ''}; TX ${coalesce.txUsecs} µs or ` +
          `${coalesce.txFrames} frames${coalesce.isAdaptiveTx ? ', adaptive' : ''}`,
    ],
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

const CORES_SHOWN = 3;

export interface DiffTextOptions {
  readonly seconds: number | undefined;
  readonly isLong: boolean;
}

/** One table of all NICs; `*` marks the busiest queue of each direction and the busiest core. */
export function formatNicDiff(
  diffs: readonly NicDiff[],
  { seconds, isLong }: DiffTextOptions,
): string {
  const busiestCpu = busiestCore(diffs);
  const hidden = diffs.flatMap(({ parts }) => parts).filter((part) => !isLong && !hasMoved(part));
  const rows = diffs.flatMap((diff) => {
    const shown = diff.parts.filter((part) => isLong || hasMoved(part));
    return [
      ...(['rx', 'tx'] as const).map((direction) => {
        const flow = diff[direction];
        const interrupts = totalInterrupts(diff, direction);
        return flowCells(diff.nic, `${direction.toUpperCase()} total`, flow, seconds, interrupts);
      }),
      ...shown.map((part) => {
        const mark = isBusiest(part, diff.parts) ? ' *' : '';
        const interrupts = [interruptTotal(part), coreText(part, busiestCpu)] as const;
        return flowCells(diff.nic, `${partName(part)}${mark}`, part, seconds, interrupts);
      }),
    ];
  });
  const heading = ['NIC', 'part', 'bytes', 'Gbit/s', 'packets', 'devmem packets', 'drops'];
  const notes = diffs.flatMap((diff) => [
    ...diff.notes.map((note) => `${diff.nic}: ${note}\n`),
    ...Object.entries(diff.drops).map(([name, count]) => `${diff.nic}: ${name} grew by ${count}\n`),
  ]);
  const time = seconds === undefined ? 'an unknown time' : `${seconds.toFixed(1)} s`;
  return (
    `in ${time}; * is the busiest\n\n` +
    formatTable([[...heading, 'interrupts', 'on CPUs'], ...rows]) +
    hiddenText(hidden) +
    notes.join('')
  );
}

function totalInterrupts(diff: NicDiff, direction: 'rx' | 'tx'): readonly [string, string] {
  const parts = diff.parts.filter((part) => part.direction === direction);
  const known = parts.filter(({ interrupts }) => interrupts !== undefined);
  if (known.length === 0 || known.length < parts.length) return ['?', '?'];
  const cpus = new Set(known.flatMap(({ interrupts }) => Object.keys(interrupts ?? {})));
  return [formatAmount(known.reduce((sum, part) => sum + sumOf(part), 0)), `${cpus.size} CPUs`];
}

function hiddenText(hidden: readonly PartDiff[]): string {
  const still = hidden.filter(({ bytes, interrupts }) => bytes === 0 || interrupts !== undefined);
  const untold = hidden.length - still.length;
  return (
    (still.length === 0 ? '' : `${still.length} queues and vectors did not move; `) +
    (untold === 0 ? '' : `of ${untold} the snapshots do not tell; `) +
    (hidden.length === 0 ? '' : '--all shows them\n')
  );
}

function flowCells(
  nic: string,
  part: string,
  flow: Pick<PartDiff, 'bytes' | 'packets' | 'devmemPackets' | 'drops'>,
  seconds: number | undefined,
  interrupts: readonly [string, string],
): readonly string[] {
  const { bytes } = flow;
  const rate =
    bytes === undefined || seconds === undefined ? undefined : (bytes * 8) / seconds / 1e9;
  return [
    nic,
    part,
    formatAmount(bytes),
    rate === undefined ? '?' : rate.toFixed(2),
    formatAmount(flow.packets),
    formatAmount(flow.devmemPackets),
    formatAmount(flow.drops),
    ...interrupts,
  ];
}

function hasMoved(part: PartDiff): boolean {
  return (part.bytes ?? 0) > 0 || (part.drops ?? 0) > 0 || sumOf(part) > 0;
}

function sumOf({ interrupts }: PartDiff): number {
  return Object.values(interrupts ?? {}).reduce((sum, count) => sum + count, 0);
}

function partName(part: PartDiff): string {
  if (part.direction !== undefined) return `${part.direction.toUpperCase()} ${part.queue ?? '?'}`;
  return `IRQ ${part.irq ?? '?'}`;
}

function interruptTotal(part: PartDiff): string {
  return part.interrupts === undefined ? '?' : formatAmount(sumOf(part));
}

/** By bytes where they are known, else by interrupts. */
function isBusiest(part: PartDiff, parts: readonly PartDiff[]): boolean {
  const peers = parts.filter(({ direction }) => direction === part.direction);
  const weight = (one: PartDiff) => one.bytes ?? sumOf(one);
  const most = Math.max(...peers.map(weight));
  return part.direction !== undefined && most > 0 && weight(part) === most;
}

function busiestCore(diffs: readonly NicDiff[]): number | undefined {
  const byCpu = new Map<number, number>();
  for (const part of diffs.flatMap(({ parts }) => parts)) {
    for (const [cpu, count] of Object.entries(part.interrupts ?? {})) {
      byCpu.set(Number(cpu), (byCpu.get(Number(cpu)) ?? 0) + count);
    }
  }
  return [...byCpu].sort((a, b) => b[1] - a[1])[0]?.[0];
}

function coreText(part: PartDiff, busiest: number | undefined): string {
  if (part.interrupts === undefined) return '?';
  const cores = Object.entries(part.interrupts).sort((a, b) => b[1] - a[1]);
  const shown = cores.slice(0, CORES_SHOWN).map(([cpu, count]) => {
    return `${cpu}${Number(cpu) === busiest ? '*' : ''}: ${formatAmount(count)}`;
  });
  const more = cores.length > CORES_SHOWN ? [`and ${cores.length - CORES_SHOWN} more`] : [];
  return [...shown, ...more].join(', ') || '-';
}
