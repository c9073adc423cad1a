// What this process holds of the kernel: descriptors and mapped bytes.

import { readdirSync, readFileSync } from 'node:fs';

/** Open descriptors; the one that lists them is not counted. */
export function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length - 1;
}

interface MappedRange {
  readonly start: number;
  readonly end: number;
  readonly isOwn: boolean;
}

/** The address ranges of this process; `isOwn` marks anonymous memory that can be written. */
function mappedRanges(): readonly MappedRange[] {
  const lines = readFileSync('/proc/self/maps', 'utf8').split('\n');
  return lines.map((line) => {
    const [range = '', mode = '', , , inode = '', path = ''] = line.split(/\s+/);
    const [start = 0, end = 0] = range.split('-').map((text) => Number.parseInt(text, 16));
    return { start, end, isOwn: inode === '0' && path === '' && mode.startsWith('rw') };
  });
}

export function isMapped(addr: number): boolean {
  return mappedRanges().some(({ start, end }) => start <= addr && addr < end);
}

/** Bytes of anonymous mappings; adjacent ones merge, so that only the sum tells. */
export function mappedBytes(): number {
  const own = mappedRanges().filter(({ isOwn }) => isOwn);
  return own.reduce((sum, { start, end }) => sum + end - start, 0);
}

/** Resident bytes of a process. */
export function residentBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1];
  if (kib === undefined) throw new Error(`/proc/${pid}/status does not tell what is resident`);
  return Number(kib) * 1024;
}
