// Which interface and which peer address each channel uses. Pure.

import { isIPv4 } from 'node:net';
import { assert } from '../base/assert.js';

export interface ChannelRoute {
  /** Interface to bind to; empty lets routing decide. */
  readonly nic: string;
  /** Peer address to connect to. */
  readonly host: string;
}

export interface LocalNic {
  readonly name: string;
  readonly address: string;
  /** What is reached through it without leaving by a default route: `10.1.0.0/16`. */
  readonly networks: readonly string[];
}

/** Round-robin over the NICs; a peer address in the NIC's own network is preferred. */
export function routeChannels(
  channelCount: number,
  nics: readonly LocalNic[],
  peerAddresses: readonly string[],
  controlHost: string,
): ChannelRoute[] {
  const hosts = peerAddresses.length > 0 ? peerAddresses : [controlHost];
  return Array.from({ length: channelCount }, (_, channel) => {
    const nic = nics.length > 0 ? nics[channel % nics.length] : undefined;
    const fallback = hosts[channel % hosts.length] ?? controlHost;
    if (nic === undefined) return { nic: '', host: fallback };
    const near = hosts.find((host) => isSameNetwork(host, nic));
    return { nic: nic.name, host: near ?? fallback };
  });
}

export interface CheckedAddresses {
  readonly usable: string[];
  /** Where the client must not knock because a server says so. */
  readonly foreign: string[];
}

/**
 * Addresses that a server names for data are used where they are its own, by the control
 * connection, or lie in the network of a NIC that this end has chosen for data.
 */
export function usableAddresses(
  addresses: readonly string[],
  nics: readonly LocalNic[],
  controlHost: string,
): CheckedAddresses {
  const isUsable = (host: string): boolean =>
    host === controlHost || nics.some((nic) => isSameNetwork(host, nic));
  return {
    usable: addresses.filter(isUsable),
    foreign: addresses.filter((host) => !isUsable(host)),
  };
}

/** Each way once, in the order given. */
export function distinctRoutes(routes: readonly ChannelRoute[]): ChannelRoute[] {
  const isSame = (a: ChannelRoute, b: ChannelRoute): boolean =>
    a.host === b.host && a.nic === b.nic;
  return routes.filter((route, index) => routes.findIndex((one) => isSame(one, route)) === index);
}

function isSameNetwork(host: string, nic: LocalNic): boolean {
  return isIPv4(host) && nic.networks.some((network) => isWithin(host, network));
}

function isWithin(host: string, network: string): boolean {
  const [address = '', prefixText = ''] = network.split('/');
  const prefix = Number(prefixText);
  assert(isIPv4(address) && prefix >= 1 && prefix <= 32, `a network, not ${network}`);
  const mask = (-1 << (32 - prefix)) >>> 0;
  return (ipv4Number(host) & mask) >>> 0 === (ipv4Number(address) & mask) >>> 0;
}

function ipv4Number(address: string): number {
  return address.split('.').reduce((number, part) => number * 256 + Number(part), 0);
}
