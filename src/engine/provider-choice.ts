// Which provider carries the data of a session. Pure: both ends know both offers from HELLO and
// CHALLENGE and come to the same answer.

import { TcpxError } from '../base/errors.js';
import type { ProviderName } from '../provider/receipt.js';
import { Feature } from '../wire/control-frame.js';

/** What one end can do, and may do by its settings. */
export interface ProviderOffer {
  readonly hasTcp: boolean;
  readonly hasTcpx: boolean;
  /** Its plugin serves peers on the same host; only an emulated one does. */
  readonly isSameHostServed: boolean;
  readonly hostId: Uint8Array;
}

export interface ProviderChoice {
  readonly provider: ProviderName;
  /** Why this one, for receipts, logs and people. */
  readonly reason: string;
}

export function offeredFeatures(offer: ProviderOffer): number {
  return (
    (offer.hasTcp ? Feature.Tcp : 0) |
    (offer.hasTcpx ? Feature.Tcpx : 0) |
    (offer.isSameHostServed ? Feature.SameHost : 0)
  );
}

export function offerOf(features: number, hostId: Uint8Array): ProviderOffer {
  return {
    hasTcp: (features & Feature.Tcp) !== 0,
    hasTcpx: (features & Feature.Tcpx) !== 0,
    isSameHostServed: (features & Feature.SameHost) !== 0,
    hostId,
  };
}

/** Throws where one end insists on what the other has not. */
export function chooseProvider(
  client: ProviderOffer,
  server: ProviderOffer,
  where: string,
): ProviderChoice {
  const isTcpx = client.hasTcpx && server.hasTcpx;
  const isTcp = client.hasTcp && server.hasTcp;
  const isNear = isSameHost(client, server);
  const isServed = !isNear || (client.isSameHostServed && server.isSameHostServed);
  if (isTcpx && isServed)
    return { provider: 'tcpx', reason: 'both ends have a plugin and a NIC for it' };
  if (isTcp) return { provider: 'tcp', reason: tcpReason(client, server) };
  if (isTcpx) {
    throw new TcpxError(
      'ERR_CONFIG_MISMATCH',
      `${where}: engine.provider: tcpx, but both ends are on one host, where the plugin fails; ` +
        'use tcp, or auto',
      { facts: { name: 'engine.provider', peer: where } },
    );
  }
  throw new TcpxError(
    'ERR_CONFIG_MISMATCH',
    `${where}: engine.provider: ${offerText(client)} at the client, ` +
      `${offerText(server)} at the server`,
    { facts: { name: 'engine.provider', peer: where } },
  );
}

export function isSameHost(one: ProviderOffer, other: ProviderOffer): boolean {
  return Buffer.compare(one.hostId, other.hostId) === 0;
}

function tcpReason(client: ProviderOffer, server: ProviderOffer): string {
  if (!client.hasTcpx && !server.hasTcpx) return 'no end offers tcpx';
  if (!client.hasTcpx) return 'the client does not offer tcpx';
  if (!server.hasTcpx) return 'the server does not offer tcpx';
  return 'both ends are on one host, where the plugin fails';
}

function offerText(offer: ProviderOffer): string {
  if (offer.hasTcp && offer.hasTcpx) return 'auto';
  return offer.hasTcpx ? 'tcpx only' : 'tcp only';
}
