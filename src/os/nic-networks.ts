// Networks that a host reaches through an interface, by its routing tables. On some clouds an
// interface has an address without a network (/32, /128), and only its routes tell who is near.

import { readFileSync } from 'node:fs';
import type { NicFamily } from './nic-address.js';

const FLAG_UP = 1;
const FLAG_REJECT = 0x200;

/** A route wider than the least is a default one, or half of one: it does not say who is near. */
export const PREFIXES: Readonly<
  Record<NicFamily, { readonly prefixMin: number; readonly prefixMax: number }>
> = { IPv4: { prefixMin: 8, prefixMax: 32 }, IPv6: { prefixMin: 16, prefixMax: 128 } };

const TABLES = {
  IPv4: { path: '/proc/net/route', parse: parseNetworks },
  IPv6: { path: '/proc/net/ipv6_route', parse: parseNetworks6 },
} as const;

/** As `10.1.0.0/16` or `fd00:1::/64`; none where the table cannot be read. */
export function nicNetworks(nic: string, family: NicFamily): string[] {
  const { path, parse } = TABLES[family];
  try {
    return parse(readFileSync(path, 'latin1'), nic);
  } catch {
    return [];
  }
}

/** Lines of /proc/net/route: numbers are hexadecimal, in the byte order of the host. */
export function parseNetworks(text: string, nic: string): string[] {
  const networks: string[] = [];
  for (const line of text.split('\n').slice(1)) {
    const [name, destination = '', , flagText = '', , , , maskText = ''] = line.split(/\s+/);
    if (name !== nic || !isUsable(flagText)) continue;
    const prefix = prefixOf(Number.parseInt(maskText, 16));
    if (prefix === undefined || prefix < PREFIXES.IPv4.prefixMin) continue;
    networks.push(`${addressOf(Number.parseInt(destination, 16))}/${prefix}`);
  }
  return networks;
}

/** Lines of /proc/net/ipv6_route: destination, prefix, six more, flags, interface. */
export function parseNetworks6(text: string, nic: string): string[] {
  const networks: string[] = [];
  for (const line of text.split('\n')) {
    const [destination = '', prefixText = '', , , , , , , flagText = '', name] = line
      .trim()
      .split(/\s+/);
    const groups = destination.match(/^[0-9a-f]{32}$/) && destination.match(/.{4}/g);
    if (name !== nic || !isUsable(flagText) || !groups) continue;
    const prefix = Number.parseInt(prefixText, 16);
    const { prefixMin, prefixMax } = PREFIXES.IPv6;
    if (prefix >= prefixMin && prefix <= prefixMax) networks.push(`${groups.join(':')}/${prefix}`);
  }
  return networks;
}

function isUsable(flagText: string): boolean {
  const flags = Number.parseInt(flagText, 16);
  return (flags & FLAG_UP) !== 0 && (flags & FLAG_REJECT) === 0;
}

function addressOf(word: number): string {
  return [0, 8, 16, 24].map((shift) => (word >>> shift) & 255).join('.');
}

// Undefined where the bits are not one run.
function prefixOf(mask: number): number | undefined {
  if (!Number.isInteger(mask)) return undefined;
  const bits = [0, 8, 16, 24]
    .map((shift) => ((mask >>> shift) & 255).toString(2).padStart(8, '0'))
    .join('');
  return /^1*0*$/.test(bits) ? bits.replaceAll('0', '').length : undefined;
}
