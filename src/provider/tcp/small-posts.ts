// The small transfers that a thread has posted and that are not over: how many of them its own lane
// takes, and whether what was posted leaves at once or with the next ones. Pure.

import { assert } from '../../base/assert.js';

/**
 * With so many in flight threads take more: the posting thread has its hands full with posts. What
 * was begun so goes on so until few are left.
 */
const CROWDED = 24;
const SPARSE = 8;
/**
 * Whoever has more than this in flight posts more soon, or polls. One system call for some posts
 * takes half the time of one for each; so many leave at the latest.
 */
const AT_ONCE = 2;
const BATCH = 8;

export class SmallPosts {
  #inFlight = 0;
  #isCrowded = false;
  #unsent = 0;

  /** Whether the lane of the posting thread has room for one more. */
  get hasRoom(): boolean {
    return !this.#isCrowded;
  }

  onPosted(): void {
    if (++this.#inFlight >= CROWDED) this.#isCrowded = true;
  }

  onOver(): void {
    assert(this.#inFlight > 0, 'it was posted');
    if (--this.#inFlight < SPARSE) this.#isCrowded = false;
  }

  /** Whether what lies unsent leaves now; else with a later post, or when the thread looks. */
  isSendDue(): boolean {
    this.#unsent++;
    if (this.#inFlight > AT_ONCE && this.#unsent < BATCH) return false;
    this.#unsent = 0;
    return true;
  }
}
