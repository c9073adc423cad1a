// What moved between two snapshots, as one table for people. `?` is unknown, `-` is none.

import type { NicDiff, PartDiff } from '../host/nic/nic-diff.js';
import { formatAmount } from './nic-text.js';
import { formatTable } from './print.js';

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
