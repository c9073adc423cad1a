// Interrupts with their affinity: the table joined with /proc/irq/N.

import { readCpuList, readCpuMask, readNode } from './field-text.js';
import type { HostFiles } from './host-files.js';
import { type InterruptRow, parseInterrupts } from './interrupts.js';
import type { Irq } from './model.js';

export function readIrqs(files: HostFiles): Irq[] {
  const table = parseInterrupts(files.need('/proc/interrupts') ?? '');
  const rows = new Map<number, InterruptRow>();
  for (const row of table.rows) if (row.irq !== undefined) rows.set(row.irq, row);
  const numbered = files.list('/proc/irq').filter((name) => /^\d+$/.test(name));
  // In a container the folder is often missing; affinity is then unknown, not "all".
  if (numbered.length === 0) files.gaps.push({ path: '/proc/irq', reason: 'no interrupts listed' });
  const irqs = new Set([...rows.keys(), ...numbered.map(Number)]);
  return [...irqs].sort((a, b) => a - b).map((irq) => readIrq(files, irq, rows.get(irq)));
}

export function readIrqDefaultAffinity(files: HostFiles): number[] | undefined {
  return readCpuMask(files, '/proc/irq/default_smp_affinity');
}

function readIrq(files: HostFiles, irq: number, row: InterruptRow | undefined): Irq {
  const mode = files.mode(`/proc/irq/${irq}/smp_affinity_list`);
  return {
    irq,
    chip: row?.chip ?? '',
    hwirq: row?.hwirq ?? '',
    actions: row?.actions,
    pciAddress: row?.pciAddress,
    vectorIndex: row?.vectorIndex,
    countByCpu: row?.countByCpu,
    ...readAffinity(files, irq),
    node: readNode(files, `/proc/irq/${irq}/node`),
    isWritable: mode === undefined ? undefined : (mode & 0o200) !== 0,
  };
}

export type IrqAffinity = Pick<Irq, 'requested' | 'effective' | 'hint'>;

/** Requested, effective and hinted CPUs of one interrupt, read now. */
export function readAffinity(files: HostFiles, irq: number): IrqAffinity {
  const folder = `/proc/irq/${irq}`;
  return {
    requested: readCpuList(files, `${folder}/smp_affinity_list`),
    effective: readCpuList(files, `${folder}/effective_affinity_list`),
    hint: readCpuMask(files, `${folder}/affinity_hint`),
  };
}

/**
 * Counts of one interrupt by CPU, from a file of some 500 bytes instead of the whole table.
 * The list has one number per possible CPU.
 */
export function parsePerCpuCount(
  text: string,
  possible: readonly number[],
): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const [index, field] of text.trim().split(',').entries()) {
    const cpu = possible[index];
    if (cpu !== undefined && field !== '0') counts[cpu] = Number(field);
  }
  return counts;
}
