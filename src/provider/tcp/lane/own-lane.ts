// A lane of the thread that opened the engine, beside those of threads: what that thread posts
// needs no hand-over to another thread. While somebody holds the lane, or polls, it asks its
// sockets in every turn; else it rests as soon as there is nothing, and a set tells of what comes.

import { peekRecord } from '../../../os/record-ring.hot.js';
import type { InlineLane } from './inline-lane.js';
import type { Resting } from './resting.js';

/** The thread around it. */
export interface OwnLaneHost {
  /** Tells, from its event loop, when the descriptor has something, until that is taken back. */
  watch(fd: number, onReady: () => void): void;
  unwatch(fd: number): void;
  /** Looks, soon and from its event loop. */
  lookSoon(): void;
}

/**
 * `posts`: what this thread posts while it polls; peers post to other lanes, so that their
 * transfers land while this thread does other things. `all`: for a thread that does nothing else.
 */
export type OwnLaneUse = 'posts' | 'all';

/** A program that polls has polled since so many waits of the event loop. */
const POLLED_WAITS = 2;
/** Where nothing is due a look does something so often: a channel's end shows all the same. */
const QUIET_LOOKS = 64;

export class OwnLane {
  readonly lane: InlineLane;
  readonly use: OwnLaneUse;
  readonly #resting: Resting;
  readonly #host: OwnLaneHost;
  #waitsSincePoll = POLLED_WAITS;
  #quietLooks = 0;
  #isHeld = false;
  #isClosed = false;
  /** How often something came while it rested. */
  toldCount = 0;

  constructor(use: OwnLaneUse, lane: InlineLane, resting: Resting, host: OwnLaneHost) {
    this.use = use;
    this.lane = lane;
    this.#resting = resting;
    this.#host = host;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Whether what is posted now will soon be looked at by this thread. */
  get isLookedAt(): boolean {
    return this.use === 'all' || this.#waitsSincePoll < POLLED_WAITS;
  }

  /** The program asks what has become of its transfers; moves what can be moved now. */
  poll(): number {
    this.#waitsSincePoll = 0;
    if (this.#resting.isResting && this.lane.hasFlight) {
      // Of what is in flight the set would tell the event loop alone, which has it rest again.
      this.#wake();
      if (!this.#isHeld) this.#host.lookSoon();
    }
    return this.look();
  }

  /** Moves what can be moved now. */
  look(): number {
    if (this.#isQuiet && ++this.#quietLooks % QUIET_LOOKS !== 0) return 0;
    return this.lane.step();
  }

  /** Nothing is due: no answer, and no command. What serves peers is looked at in any case. */
  get #isQuiet(): boolean {
    if (this.use === 'all' || this.lane.hasFlight) return false;
    return this.#resting.isResting || peekRecord(this.lane.core.commands) < 0;
  }

  /** Somebody looks again and again, until `letGo`. */
  hold(): void {
    this.#isHeld = true;
    this.#wake();
  }

  /** False where there is something to do: it does not rest yet. */
  letGo(): boolean {
    this.#isHeld = false;
    return this.rest();
  }

  /** There is a command for it. */
  ring(): void {
    this.#wake();
    if (!this.#isHeld) this.#host.lookSoon();
  }

  /** False where there is something to do; whoever holds it keeps it awake. */
  rest(): boolean {
    this.#waitsSincePoll = Math.min(POLLED_WAITS, this.#waitsSincePoll + 1);
    if (this.#isHeld || this.#resting.isResting || this.#isClosed) return true;
    const { core } = this.lane;
    // Whoever brings the first channel rings.
    if (core.channels.length === 0 && peekRecord(core.commands) < 0) return true;
    if (peekRecord(core.commands) >= 0 || !this.#resting.begin()) return false;
    if (this.lane.step() > 0 || core.staging.isPending) {
      this.#resting.wake();
      return false;
    }
    try {
      this.#host.watch(this.#resting.fd, () => this.#onReady());
    } catch (error) {
      this.#resting.wake();
      throw error;
    }
    return true;
  }

  /** For a thread that blocks: until something comes, or the time is over. */
  sleep(timeoutMs: number): void {
    if (this.#resting.isResting || !this.#resting.begin()) return;
    if (this.lane.step() === 0) this.#resting.wait(timeoutMs);
    this.#resting.wake();
  }

  #onReady(): void {
    this.#wake();
    this.toldCount++;
    this.lane.step();
  }

  #wake(): void {
    if (!this.#resting.isResting) return;
    this.#host.unwatch(this.#resting.fd);
    this.#resting.wake();
  }

  close(): void {
    this.#isClosed = true;
    this.lane.close();
    this.#resting.close();
  }
}
