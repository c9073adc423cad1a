// What the kernel holds for sockets, of the whole machine: pages of TCP, and all that is not free.

import { readFileSync } from 'node:fs';

const PAGE_BYTES = 4096;

/** Bytes in the queues of TCP sockets, of this network namespace and all processes. */
export function tcpQueueBytes(): number {
  const text = readFileSync('/proc/net/sockstat', 'utf8');
  const pages = /^TCP:.* mem (\d+)$/m.exec(text)?.[1];
  if (pages === undefined) throw new Error('/proc/net/sockstat does not tell the memory of TCP');
  return Number(pages) * PAGE_BYTES;
}

/** Sockets of TCP that are open, here and in every process of the namespace. */
export function tcpSockets(): number {
  const text = readFileSync('/proc/net/sockstat', 'utf8');
  const count = /^TCP: inuse (\d+)/m.exec(text)?.[1];
  if (count === undefined) throw new Error('/proc/net/sockstat does not tell the sockets of TCP');
  return Number(count);
}

/** Resident bytes of a process. */
export function residentBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1];
  if (kib === undefined) throw new Error(`/proc/${pid}/status does not tell what is resident`);
  return Number(kib) * 1024;
}
