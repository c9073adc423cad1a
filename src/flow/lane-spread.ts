// Over how many lanes a transfer is spread: over as many as have a while of work each. Waking one
// more lane, at both ends, costs tens of microseconds of its core; a lane that has less to do than
// that makes the transfer no faster and the host busier. Pure.

import { assert, at } from '../base/assert.js';

/** What one lane must have to do for it to pay. */
const WORTH_US = 200;
/** A slower sample pulls the estimate down by this part: transfers that wait for each other. */
const DECAY = 1 / 16;

export class LaneSpread {
  /** What one lane moves at its best; 0 is unknown. */
  #bytesPerUs = 0;

  /** While nothing is known of the peer, every lane is asked. */
  lanesFor(bytes: number, chunks: number, lanes: number): number {
    const most = Math.min(lanes, chunks);
    if (this.#bytesPerUs === 0) return most;
    const worth = Math.floor(bytes / (this.#bytesPerUs * WORTH_US));
    return Math.max(1, Math.min(most, worth));
  }

  onDone(bytes: number, durationUs: number, lanes: number): void {
    if (durationUs <= 0 || lanes === 0) return;
    const sample = bytes / durationUs / lanes;
    const difference = sample - this.#bytesPerUs;
    this.#bytesPerUs += difference > 0 ? difference : difference * DECAY;
  }
}

/** Of the lanes that are not taken, as bits, the first with the fewest transfers. */
export function leastLoaded(
  loads: readonly number[],
  lanes: readonly number[],
  taken: number,
): number {
  let best = -1;
  for (const lane of lanes) {
    if ((taken & (1 << lane)) !== 0) continue;
    if (best < 0 || at(loads, lane) < at(loads, best)) best = lane;
  }
  assert(best >= 0, 'no more lanes are told than there are');
  return best;
}
