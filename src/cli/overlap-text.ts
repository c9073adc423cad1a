// How interrupts and threads of each NIC lie to each other, as a small matrix.

import { formatCpuList } from '../base/cpu-set.js';
import type { OverlapReport, RangeFacts } from '../host/irq/overlap.js';
import { formatTable } from './print.js';

const HEADING = [
  'NIC',
  'interrupts',
  'CPUs',
  'remote',
  'TX threads',
  'RX threads',
  'IRQ∩TX',
  'IRQ∩RX',
  'TX∩RX',
  'same thread cores',
] as const;

const EMPTY = '-';

export function formatOverlap(reports: readonly OverlapReport[]): string {
  if (reports.length === 0) return '';
  const rows = reports.map((report) => [
    report.nic,
    report.irqCertainty,
    formatCpuList(report.irqCpus) || EMPTY,
    report.irqRemote === undefined ? '?' : formatCpuList(report.irqRemote) || EMPTY,
    rangeText(report.tx),
    rangeText(report.rx),
    meetText(report, report.inTx),
    meetText(report, report.inRx),
    formatCpuList(report.txRxOverlap) || EMPTY,
    report.sharedWith.join(' ') || EMPTY,
  ]);
  return `${formatTable([HEADING, ...rows])}${legend(reports)}`;
}

function rangeText({ cpus, physicalCores, isLocal }: RangeFacts): string {
  if (cpus === 0) return EMPTY;
  const where = isLocal === undefined ? 'node ?' : isLocal ? 'local' : 'REMOTE';
  return `${cpus} CPUs, ${physicalCores ?? '?'} cores, ${where}`;
}

// Where interrupts are not known, an empty meeting says nothing.
function meetText({ irqCertainty }: OverlapReport, cpus: readonly number[]): string {
  if (cpus.length > 0) return formatCpuList(cpus);
  return irqCertainty === 'unknown' ? '?' : EMPTY;
}

function legend(reports: readonly OverlapReport[]): string {
  const seen = new Set(reports.map(({ irqCertainty }) => irqCertainty));
  const lines = [
    'effective: where interrupts are delivered; requested: asked for, of which x86 uses one CPU',
    'unknown: some of it cannot be read here',
  ];
  const shown = seen.has('unknown') ? lines : lines.slice(0, 1);
  return shown.map((line) => `  ${line}\n`).join('');
}
