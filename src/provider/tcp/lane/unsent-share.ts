// How much a channel may leave in the kernel that its peer does not take: an equal share of what
// the lane allows for all. A peer that asks and never reads would else fill a send buffer per
// channel.

import type { Channel } from './channel.js';
import type { LaneCore } from './lane-core.js';

/** Less would cost throughput on any path. */
const SHARE_BYTES_MIN = 64 * 1024;
/** A send buffer of the kernel's own choice has no more, so nobody is limited. */
const SHARE_BYTES_FREE = 4 * 1024 * 1024;
/** In place of a share: the kernel's default, which is no limit. */
const UNLIMITED = 0;

/** In steps of two, so that sockets are told rarely as channels come and go. */
export function unsentShare(sendBytes: number, channels: number): number {
  const bytes = sendBytes / Math.max(1, channels);
  if (bytes >= SHARE_BYTES_FREE) return UNLIMITED;
  return Math.max(SHARE_BYTES_MIN, 2 ** Math.floor(Math.log2(bytes)));
}

/** Shares out anew, after a channel was added (it is the last one) or removed. */
export function shareUnsent(core: LaneCore, added?: Channel): void {
  const share = unsentShare(core.sendBytes, core.channels.length);
  if (share !== core.unsentShare) {
    core.unsentShare = share;
    for (const channel of core.channels) channel.port.limitUnsent?.(share);
  } else if (share !== UNLIMITED) {
    added?.port.limitUnsent?.(share);
  }
}
