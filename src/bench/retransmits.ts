// What a session's kernel had to send again, while a benchmark runs.

import type { Session } from '../engine/internal.js';

/** Segments that were sent again so far, over all channels; −1 where no kernel counts them. */
export function countRetransmits(session: Session): number {
  const counts = session.kernelCounters().map(({ retransmits }) => retransmits);
  if (counts.length === 0 || counts.some((count) => count < 0)) return -1;
  return counts.reduce((sum, count) => sum + count, 0);
}
