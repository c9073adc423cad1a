// The way of a session's messages, which carry no data: those behind others take the way of these,
// so that they do not overtake them. Where they become too many for the thread that posts, the next
// ones wait until those before them are confirmed. Pure.

import { assert } from '../../base/assert.js';
import type { ChosenLanes } from './chosen-lanes.js';

export class MessageOrder {
  /** Where the last one went, or waits to go. */
  #last: ChosenLanes | undefined;
  /** How many are not confirmed, and of those, how many the posting thread's own lane has. */
  #inFlight = 0;
  #own = 0;

  /** The way that the next one has to take, where those before it leave no choice. */
  way(hasRoom: boolean, living: readonly number[]): ChosenLanes | undefined {
    const last = this.#last;
    if (last === undefined || this.#inFlight === 0 || (last.isOwn && !hasRoom)) return undefined;
    const [first] = last.lanes;
    return first !== undefined && living.includes(first) ? last : undefined;
  }

  /** Whether one that goes this way has to wait for those before it. */
  isBehind({ isOwn }: ChosenLanes): boolean {
    return !isOwn && this.#own > 0;
  }

  onPosted(chosen: ChosenLanes): void {
    this.#last = chosen;
    this.#inFlight++;
    if (chosen.isOwn) this.#own++;
  }

  /** Whether those that wait may go. */
  onOver({ isOwn }: ChosenLanes): boolean {
    assert(this.#inFlight > 0, 'it was posted');
    this.#inFlight--;
    if (!isOwn) return false;
    assert(this.#own > 0, 'it was counted');
    return --this.#own === 0;
  }
}
