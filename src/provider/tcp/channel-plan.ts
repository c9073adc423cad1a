// Which channels a session has: those that were agreed, and where both ends know of channels that
// come late, one more for what each end posts, on a lane of the thread that posts. Pure.

import type { ChannelIndex } from '../../base/quantity.js';
import { CHANNELS_MAX } from '../../base/shared-layout.js';

/** What both ends agreed on about when channels come. */
export interface LateChannels {
  /** Channels may be attached when one needs them; each end may have one of its own. */
  readonly isKnown: boolean;
  /** The session begins with its first channel. */
  readonly beginsWithOne: boolean;
}

export interface ChannelPlan {
  /** Indexes below it may have a connection. */
  readonly count: number;
  /** So many of the agreed ones are there before the session is ready. */
  readonly needed: number;
  /** What this end posts alone goes there; −1 where there is none. */
  readonly own: number;
  /** What the peer posts alone goes there: this end answers on it, and sends nothing else. */
  readonly peers: number;
}

const NONE = -1;

/** Who posts on a channel: both ends, the peer alone, or this end alone. */
export const CHANNEL_BOTH = 0;
export const CHANNEL_PEERS = 1;
export const CHANNEL_OWN = 2;

export function whoseChannel({ own, peers }: ChannelPlan, channel: ChannelIndex): number {
  if (channel === own) return CHANNEL_OWN;
  return channel === peers ? CHANNEL_PEERS : CHANNEL_BOTH;
}

/** Behind the agreed channels come the client's own and the server's. */
export function channelPlan(
  agreed: number,
  role: 'client' | 'server',
  { isKnown, beginsWithOne }: LateChannels,
): ChannelPlan {
  const needed = isKnown && beginsWithOne ? 1 : agreed;
  const hasOwn = isKnown && agreed + 2 <= CHANNELS_MAX;
  if (!hasOwn) return { count: agreed, needed, own: NONE, peers: NONE };
  const isClient = role === 'client';
  const [clients, servers] = [agreed, agreed + 1];
  return {
    count: agreed + 2,
    needed,
    own: isClient ? clients : servers,
    peers: isClient ? servers : clients,
  };
}
