// Peers of one host: packets between them turn round in the kernel and never reach the
// device-memory queue of a NIC, over which the plugin ends its process ("rx no cmsg"). Found out
// before it is asked: by the boot of the two hosts, or by the address that the peer listens on.

import { networkInterfaces } from 'node:os';
import { readBootId } from '../../base/boot-id.js';
import { TcpxError } from '../../base/errors.js';

export interface HostIdentity {
  /** Of the running kernel; empty where it is not known. */
  readonly bootId: string;
  /** Of its interfaces; empty where they are not known. */
  readonly addresses: readonly string[];
}

const FAMILY_IPV4 = 2;

export function readHostIdentity(): HostIdentity {
  const addresses = Object.values(networkInterfaces()).flatMap((entries) =>
    (entries ?? []).map(({ address }) => address),
  );
  return { bootId: readBootId() ?? '', addresses };
}

/** What says that both are one host; empty when nothing does. */
export function sameHostEvidence(own: HostIdentity, peer: HostIdentity): string {
  if (own.bootId !== '' && own.bootId === peer.bootId) return `boot ${own.bootId} is both ends’`;
  const shared = peer.addresses.find((address) => own.addresses.includes(address));
  const known = shared ?? peer.addresses.find(isLoopback);
  return known === undefined ? '' : `${known} is an address of this host`;
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

/** Where a plugin listens for data, as it writes the first bytes of its handle; empty if not so. */
export function handleAddress(handle: string): string {
  const bytes = Buffer.from(handle, 'hex');
  if (bytes.length < 8 || bytes.readUInt16LE(0) !== FAMILY_IPV4 || bytes.readUInt16BE(2) === 0) {
    return '';
  }
  return [...bytes.subarray(4, 8)].join('.');
}

/** Throws where the peer is on this host, with what shows it. */
export function requireOtherHost(own: HostIdentity, peer: HostIdentity, nic: string): void {
  const evidence = sameHostEvidence(own, peer);
  if (evidence === '') return;
  throw new TcpxError(
    'ERR_PEER_SAME_HOST',
    `${nic}: the peer is on this host (${evidence}): packets between them never reach a NIC’s ` +
      'device memory, the plugin would end with "rx no cmsg"',
    { facts: { nic, evidence } },
  );
}
