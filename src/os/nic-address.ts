// The address of an interface by which peers reach it.

import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { TcpxError } from '../base/errors.js';

export type NicFamily = NetworkInterfaceInfo['family'];

/** Known on one link alone, and to nobody else: fe80::/10. */
export function isLinkLocal(host: string): boolean {
  return /^fe[89ab][0-9a-f]:/i.test(host);
}

/**
 * A missing one is an error, never a silent fallback. A link-local one counts where the peer has
 * such a one too: others cannot answer it.
 */
export function nicAddress(nic: string, family: NicFamily, isLocalLink = false): string {
  const entry = entriesOf(nic).find(
    (candidate) => candidate.family === family && isLinkLocal(candidate.address) === isLocalLink,
  );
  if (entry === undefined) throw noAddress(nic, isLocalLink ? `link-local ${family}` : family);
  return entry.scopeid === undefined || entry.scopeid === 0
    ? entry.address
    : `${entry.address}%${entry.scopeid}`;
}

/** It is there and has an address of either family that peers may be told. */
export function assertNic(nic: string): void {
  if (entriesOf(nic).every(({ address }) => isLinkLocal(address))) {
    throw noAddress(nic, 'IPv4 or IPv6');
  }
}

function entriesOf(nic: string): NetworkInterfaceInfo[] {
  const entries = networkInterfaces()[nic];
  if (entries !== undefined) return entries;
  const names = Object.keys(networkInterfaces()).join(', ');
  throw new TcpxError('ERR_CONFIG_VALUE', `interface ${nic}: not here or down (found: ${names})`);
}

function noAddress(nic: string, kind: string): TcpxError {
  const has = entriesOf(nic).map(({ address }) => address);
  const text = `interface ${nic}: has no ${kind} address for peers (it has: ${has.join(', ')})`;
  return new TcpxError('ERR_CONFIG_VALUE', text);
}
