// A lane of the thread that opened the engine, beside those of threads: what that thread posts, and
// what it is sent, needs no hand-over to another thread. While somebody holds the lane it asks its
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

export class OwnLane {
  readonly lane: InlineLane;
  readonly #resting: Resting;
  readonly #host: OwnLaneHost;
  #isHeld = false;
  #isClosed = false;
  /** How often something came while it rested. */
  toldCount = 0;

  constructor(lane: InlineLane, resting: Resting, host: OwnLaneHost) {
    this.lane = lane;
    this.#resting = resting;
    this.#host = host;
  }

  get isHeld(): boolean {
    return this.#isHeld;
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
    if (this.#isHeld || this.#resting.isResting || this.#isClosed) return true;
    const { core } = this.lane;
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
