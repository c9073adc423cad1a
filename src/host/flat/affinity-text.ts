// A list of interrupt affinities as text: `IRQ 79: mask=…,00000002 cores=1`, or as our own
// snapshots write it, `IRQ 79: eth0 1`. `N/A` and whatever else is no CPU list is unknown. Pure.

import { parseCpuList, parseCpuMask } from '../../base/cpu-set.js';

const LINE = /^IRQ +(\d+): *(.*)$/;

export function parseAffinityText(text: string): ReadonlyMap<number, readonly number[]> {
  const affinities = new Map<number, readonly number[]>();
  for (const line of text.split('\n')) {
    const match = LINE.exec(line.trim());
    if (match === null) continue;
    const cpus = cpusOf(match[2] ?? '');
    if (cpus !== undefined && cpus.length > 0) affinities.set(Number(match[1]), cpus);
  }
  return affinities;
}

function cpusOf(rest: string): readonly number[] | undefined {
  const list = /\bcores=(\S+)/.exec(rest)?.[1] ?? /(?:^|\s)(\d[\d,-]*)$/.exec(rest)?.[1];
  if (list !== undefined) return parseCpuList(list);
  const mask = /\bmask=(\S+)/.exec(rest)?.[1];
  return mask === undefined ? undefined : parseCpuMask(mask);
}
