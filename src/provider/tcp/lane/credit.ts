// Who may send how much to this lane: an equal share of what it takes at a time, in whole chunks.
// With few senders the agreed window is less than the share, and nobody is limited.

import type { Channel } from './channel.js';
import type { LaneCore } from './lane-core.js';

/** Shares out anew; senders learn of a change by the next acknowledgement. */
export function grantCredit(core: LaneCore): void {
  for (const channel of core.channels) {
    channel.credit.grant(creditOf(core.receiveBytes, core.channels.length, channel));
  }
}

/** At least one chunk: a sender that may send nothing would never ask again. */
export function creditOf(
  receiveBytes: number,
  senders: number,
  { chunkBytesMax, windowChunks }: Pick<Channel, 'chunkBytesMax' | 'windowChunks'>,
): number {
  const chunks = Math.floor(receiveBytes / senders / chunkBytesMax);
  return Math.min(windowChunks, Math.max(1, chunks));
}
