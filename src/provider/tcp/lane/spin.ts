// How long an idle lane, or a thread that waits for transfers, looks again before it sleeps: as
// long as what it waits for tends to come within that time, and not at all where it does not.

import type { LaneCore } from './lane-core.js';

/** A shorter spin ends before a peer on the same host can have answered. */
const SPIN_US_MIN = 25;

/**
 * The next spin after a sleep. `waitedUs`: from when there was nothing to do until it woke. A
 * spin of `limitUs` would have saved a sleep that ended within it, and was wasted on a longer one.
 * A small limit is what it is: waking up alone takes longer, and would be taken for a long wait.
 */
export function nextSpinUs(spinUs: number, waitedUs: number, limitUs: number): number {
  if (limitUs < 2 * SPIN_US_MIN) return limitUs;
  if (waitedUs <= limitUs) return Math.min(limitUs, Math.max(SPIN_US_MIN, spinUs * 2));
  return spinUs < 2 * SPIN_US_MIN ? 0 : spinUs / 2;
}

/** Whether some peer owes an acknowledgement or an answer: that comes sooner than a request may. */
export function isAnswerExpected(core: LaneCore): boolean {
  return core.channels.some((channel) => channel.hasFlight());
}
