// struct sockaddr_in and sockaddr_in6 as bytes. Pure.

import { isIPv4, isIPv6 } from 'node:net';
import { TcpxError } from '../../base/errors.js';

export const AF_INET = 2;
export const AF_INET6 = 10;
export const SOCKADDR_BYTES_MAX = 28;

export interface SocketAddress {
  /** Numeric IPv4 or IPv6 address; an IPv6 link-local one may carry `%scope` as a number. */
  readonly host: string;
  readonly port: number;
}

/** Writes the address in kernel form and returns its length. */
export function encodeSocketAddress(
  view: DataView,
  offset: number,
  address: SocketAddress,
): number {
  const [host = '', scope] = address.host.split('%');
  if (isIPv4(host)) {
    view.setUint16(offset, AF_INET, true);
    view.setUint16(offset + 2, address.port, false);
    const parts = host.split('.').map(Number);
    for (let index = 0; index < 4; index++) view.setUint8(offset + 4 + index, parts[index] ?? 0);
    for (let index = 8; index < 16; index++) view.setUint8(offset + index, 0);
    return 16;
  }
  if (!isIPv6(host)) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${JSON.stringify(address.host)} is not an address`);
  }
  view.setUint16(offset, AF_INET6, true);
  view.setUint16(offset + 2, address.port, false);
  view.setUint32(offset + 4, 0);
  const groups = parseIPv6Groups(host);
  for (let index = 0; index < 8; index++) {
    view.setUint16(offset + 8 + index * 2, groups[index] ?? 0, false);
  }
  view.setUint32(offset + 24, Number(scope ?? 0), true);
  return 28;
}

export function decodeSocketAddress(view: DataView, offset: number): SocketAddress {
  const family = view.getUint16(offset, true);
  const port = view.getUint16(offset + 2, false);
  if (family === AF_INET) {
    const parts = [0, 1, 2, 3].map((index) => view.getUint8(offset + 4 + index));
    return { host: parts.join('.'), port };
  }
  if (family !== AF_INET6) throw new TcpxError('ERR_SYS_CALL', `address family ${family}`);
  const groups: number[] = [];
  for (let index = 0; index < 8; index++)
    groups.push(view.getUint16(offset + 8 + index * 2, false));
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (mapped) {
    const high = groups[6] ?? 0;
    const low = groups[7] ?? 0;
    return { host: `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`, port };
  }
  const scope = view.getUint32(offset + 24, true);
  const host = formatIPv6Groups(groups);
  return { host: scope === 0 ? host : `${host}%${scope}`, port };
}

export function isLoopbackHost(host: string): boolean {
  return host.startsWith('127.') || host === '::1';
}

function parseIPv6Groups(host: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(host);
  const text =
    dotted === null
      ? host
      : `${dotted[1]}${hexPair(dotted[2], dotted[3])}:${hexPair(dotted[4], dotted[5])}`;
  const [head = '', tail] = text.split('::');
  const parse = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const first = parse(head);
  if (tail === undefined) return first;
  const last = parse(tail);
  const zeros = new Array<number>(Math.max(0, 8 - first.length - last.length)).fill(0);
  return [...first, ...zeros, ...last];
}

function hexPair(high: string | undefined, low: string | undefined): string {
  return ((Number(high) << 8) | Number(low)).toString(16);
}

// The longest run of zero groups, if it is longer than one, becomes `::`.
function formatIPv6Groups(groups: readonly number[]): string {
  let bestStart = 0;
  let bestCount = 1;
  for (let start = 0; start < groups.length; start++) {
    let count = 0;
    while (groups[start + count] === 0) count++;
    if (count > bestCount) {
      bestStart = start;
      bestCount = count;
    }
  }
  const hex = (part: readonly number[]): string =>
    part.map((group) => group.toString(16)).join(':');
  if (bestCount < 2) return hex(groups);
  return `${hex(groups.slice(0, bestStart))}::${hex(groups.slice(bestStart + bestCount))}`;
}
