// Which channels of a session pull by turns in this lane: all that may send and that move. One that
// stands still must not hold up a transfer whose turn it is; the others pull on without it.

import type { Channel } from './channel.js';
import type { SessionLane } from './lane-core.js';

export function joinTurns({ pullers }: SessionLane, channel: Channel): void {
  if (!channel.isPeers && !pullers.includes(channel)) pullers.push(channel);
}

export function leaveTurns({ pullers }: SessionLane, channel: Channel): void {
  const place = pullers.indexOf(channel);
  if (place >= 0) pullers.splice(place, 1);
}
