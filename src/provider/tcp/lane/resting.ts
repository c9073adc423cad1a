// How a thread that drives a lane among other things gets away from asking the sockets: it rests,
// and from then on a set tells of whatever comes.

import { Readiness } from '../../../os/readiness.js';
import type { Channel } from './channel.js';
import { ChannelWatch } from './channel-watch.js';

const NO_DOORBELL = -1;

export class Resting {
  readonly #readiness = new Readiness(NO_DOORBELL);
  readonly #watch = new ChannelWatch(this.#readiness);
  #isResting = false;

  /** Readable when there is something, while it rests. */
  get fd(): number {
    return this.#readiness.fd;
  }

  get isResting(): boolean {
    return this.#isResting;
  }

  add(channel: Channel): void {
    this.#watch.add(channel);
  }

  remove(channel: Channel): void {
    this.#watch.remove(channel);
  }

  /**
   * False where a channel in memory has something. Else what the set had to tell until now has been
   * told to the channels, which need one more turn: it may be old, or have come just now.
   */
  begin(): boolean {
    if (!this.#watch.polled.prepareSleep()) return false;
    this.#readiness.wait(0, this.#watch);
    this.#isResting = true;
    return true;
  }

  /** Returns when the set has told the channels of something, or after the time. */
  wait(timeoutMs: number): void {
    this.#readiness.wait(timeoutMs, this.#watch);
  }

  wake(): void {
    if (!this.#isResting) return;
    this.#isResting = false;
    this.#watch.polled.endSleep();
  }

  close(): void {
    this.#readiness.close();
  }
}
