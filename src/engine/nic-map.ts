// Which interface and which peer address each channel uses. Pure.

import { BlockList, isIP } from 'node:net';
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
  /** What is reached through it without a default route: `10.1.0.0/16`, `fd00:1::/64`. */
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

// A scoped address (fe80::1%2) means another link at every host: nobody is told one.
function isSameNetwork(host: string, nic: LocalNic): boolean {
  const family = familyOf(host);
  return family !== undefined && nic.networks.some((network) => isWithin(host, family, network));
}

function isWithin(host: string, family: 'ipv4' | 'ipv6', network: string): boolean {
  const [address = '', prefixText = ''] = network.split('/');
  const prefix = Number(prefixText);
  const networkFamily = familyOf(address);
  const isPrefix = prefix >= 1 && prefix <= (networkFamily === 'ipv4' ? 32 : 128);
  assert(networkFamily !== undefined && isPrefix, `a network, not ${network}`);
  if (networkFamily !== family) return false;
  const list = new BlockList();
  list.addSubnet(address, prefix, family);
  return list.check(host, family);
}

function familyOf(host: string): 'ipv4' | 'ipv6' | undefined {
  if (host.includes('%')) return undefined;
  const version = isIP(host);
  if (version === 0) return undefined;
  return version === 4 ? 'ipv4' : 'ipv6';
}
