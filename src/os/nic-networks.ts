// Networks that a host reaches through an interface, by its routing table. On some clouds an
// interface has an address without a network (/32), and only its routes tell who is near.

import { readFileSync } from 'node:fs';

const ROUTES_PATH = '/proc/net/route';
const FLAG_UP = 1;
const FLAG_REJECT = 0x200;
/** A wider route is a default one, or half of one: it says nothing about who is near. */
export const NETWORK_PREFIX_MIN = 8;

/** As `10.1.0.0/16`; none where the table cannot be read. */
export function nicNetworks(nic: string): string[] {
  let text: string;
  try {
    text = readFileSync(ROUTES_PATH, 'latin1');
  } catch {
    return [];
  }
  return parseNetworks(text, nic);
}

/** Lines of /proc/net/route: numbers are hexadecimal, in the byte order of the host. */
export function parseNetworks(text: string, nic: string): string[] {
  const networks: string[] = [];
  for (const line of text.split('\n').slice(1)) {
    const [name, destination = '', , flagText = '', , , , maskText = ''] = line.split(/\s+/);
    if (name !== nic) continue;
    const flags = Number.parseInt(flagText, 16);
    const prefix = prefixOf(Number.parseInt(maskText, 16));
    const isUsable = (flags & FLAG_UP) !== 0 && (flags & FLAG_REJECT) === 0;
    if (!isUsable || prefix === undefined || prefix < NETWORK_PREFIX_MIN) continue;
    networks.push(`${addressOf(Number.parseInt(destination, 16))}/${prefix}`);
  }
  return networks;
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
