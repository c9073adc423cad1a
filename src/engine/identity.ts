// Who this end is in a handshake, and what it demands of the other before it goes on. Pure.

import type { Config } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import { Feature } from '../wire/control-frame.js';
import { type Wish, wishAmid, wishOf } from './agreement.js';
import type { ConnectionFacts } from './exchange.js';
import { offeredFeatures, type ProviderOffer } from './provider-choice.js';
import { type LocalWish, sharingFeatures } from './session-sharing.js';
import type { Trust } from './trust.js';

export interface Identity {
  readonly name: string;
  readonly generation: Uint8Array;
  readonly trust: Trust;
  readonly wish: Wish;
  /** Whether data channels run over shared memory. */
  readonly local: LocalWish;
  /** Whether frames of data channels carry checks; where one end wants it, both do. */
  readonly isChecked: boolean;
  readonly offer: ProviderOffer;
  /** Of each step. */
  readonly timeoutMs: number;
}

/** What the settings say, and who this is. */
export function identityOf(
  self: Pick<Identity, 'name' | 'generation' | 'trust' | 'offer'>,
  config: Config,
  isServed = false,
): Identity {
  const { values } = config;
  const wish = wishOf(config);
  return {
    ...self,
    // Its event loop turns whatever its program does: channels, and lanes, come when needed.
    wish: isServed ? wishAmid(wish, Number.POSITIVE_INFINITY) : wish,
    local: values['session.local'],
    isChecked: values['flow.checksum'],
    timeoutMs: values['session.handshakeTimeoutMs'],
  };
}

export function featuresOf(self: Identity): number {
  const shared = sharingFeatures(self.local);
  const secret = hasSecret(self) ? Feature.Secret : 0;
  const checked = self.isChecked ? Feature.Checked : 0;
  return shared | secret | checked | Feature.LateChannels | offeredFeatures(self.offer);
}

/** Whether the peer knows of channels that come late, as this end does. */
export function knowsLate(features: number): boolean {
  return (features & Feature.LateChannels) !== 0;
}

function hasSecret({ trust }: Identity): boolean {
  return trust.secret.length > 0;
}

/** Without a secret nobody beyond loopback, in either direction and on every connection. */
export function checkTrusted(self: Identity, { where, isLoopback }: ConnectionFacts): void {
  if (self.trust.acceptsNetwork || isLoopback) return;
  throw new TcpxError(
    'ERR_PEER_UNTRUSTED',
    `${where}: without a secret only loopback peers are accepted ` +
      '(give both ends --secret-file, or --trust network)',
    { facts: { peer: where } },
  );
}

type Role = 'client' | 'server';

/** Whether frames of the session's data channels carry checks, in both directions. */
export function isSessionChecked(self: Identity, features: number): boolean {
  return self.isChecked || (features & Feature.Checked) !== 0;
}

/** A proof was wrong: which end lacks the secret, as far as it can be told. */
export function secretError(
  where: string,
  self: Identity,
  features: number,
  peer: Role,
): TcpxError {
  const doesPeer = (features & Feature.Secret) !== 0;
  const facts = { peer: where, hasSecret: hasSecret(self), hasPeerSecret: doesPeer };
  const text = secretText(hasSecret(self), doesPeer, peer);
  return new TcpxError('ERR_WIRE_AUTH', `${where}: ${text}`, { facts });
}

function secretText(isHere: boolean, isThere: boolean, peer: Role): string {
  const own = peer === 'client' ? 'server' : 'client';
  if (isHere && isThere) return `the ${peer} has another shared secret than this end, the ${own}`;
  const how = 'by the setting trust.secret, NIXL_TCPX_TRUST_SECRET_FILE or --secret-file';
  if (isHere) return `the ${peer} has no shared secret, this end has one; give it the same ${how}`;
  if (isThere) return `this end has no shared secret, the ${peer} has one; give it here ${how}`;
  return `neither end has a shared secret, and what the ${peer} said was changed on its way`;
}

/** The peer knows the secret, but it has heard or said something else than this end. */
export function changedError(where: string): TcpxError {
  return new TcpxError('ERR_WIRE_AUTH', `${where}: the handshake was changed on its way`, {
    facts: { peer: where },
  });
}
