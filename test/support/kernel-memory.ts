// What the kernel holds for sockets, of the whole machine: pages of TCP, and all that is not free.

import { readFileSync } from 'node:fs';

/** Resident bytes of a process. */
export function residentBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1];
  if (kib === undefined) throw new Error(`/proc/${pid}/status does not tell what is resident`);
  return Number(kib) * 1024;
}
