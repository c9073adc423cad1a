// How much a connection may have in flight as the kernel lets its buffers grow.

import { readFileSync } from 'node:fs';

/** The lesser of what both buffers grow to; undefined where it cannot be read. */
export function kernelFlightBytes(): number | undefined {
  const [send, receive] = ['wmem', 'rmem'].map(mostOf);
  if (send === undefined || receive === undefined) return undefined;
  return flightBytesOf(send, receive);
}

/** Pure. Half of a receive buffer is window (tcp_adv_win_scale); the rest is the kernel's own. */
export function flightBytesOf(sendBytes: number, receiveBytes: number): number {
  return Math.min(sendBytes, receiveBytes / 2);
}

function mostOf(name: string): number | undefined {
  try {
    const text = readFileSync(`/proc/sys/net/ipv4/tcp_${name}`, 'utf8');
    const most = Number(text.trim().split(/\s+/)[2]);
    return Number.isSafeInteger(most) && most > 0 ? most : undefined;
  } catch {
    return undefined;
  }
}
