// Turns of all clients, again and again while there is something to do, and for a bounded while
// after; then the service sleeps, and clients announce what they post.

import { type Clock, systemClock } from '../base/clock.js';
import { nextSpinUs } from '../engine/internal.js';
import { SpinRest } from '../os/spin-rest.js';

/** What has turns. */
export interface Pumped {
  /** Whether there was something to do. */
  turn(): boolean;
  /** False: something came in between, so do not sleep. */
  sleep(): boolean;
  wake(): void;
}

/** Rounds between two visits of the event loop, which timers and sockets need. */
const ROUNDS = 32;

export class Pump {
  readonly #clients: ReadonlySet<Pumped>;
  readonly #spinUsMax: number;
  readonly #clock: Clock;
  readonly #rest: SpinRest;
  #spinUs: number;
  #isRunning = false;
  /** When there was something last, as far as known. */
  #lastUs = 0;

  constructor(
    clients: ReadonlySet<Pumped>,
    spinUsMax: number,
    clock: Clock = systemClock,
    rest = new SpinRest(clock),
  ) {
    this.#clients = clients;
    this.#spinUsMax = spinUsMax;
    this.#spinUs = spinUsMax;
    this.#clock = clock;
    this.#rest = rest;
  }

  /** Something may be there. */
  wake(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const nowUs = this.#clock.nowUs();
    this.#spinUs = nextSpinUs(this.#spinUs, nowUs - this.#lastUs, this.#spinUsMax);
    this.#lastUs = nowUs;
    for (const client of this.#clients) client.wake();
    setImmediate(() => this.#run());
  }

  #run(): void {
    for (let round = 0; round < ROUNDS; round++) {
      if (this.#round()) this.#lastUs = this.#clock.nowUs();
      else if (this.#isOver()) break;
      else this.#rest.yield();
    }
    if (this.#isOver() && this.#sleep()) return;
    setImmediate(() => this.#run());
  }

  #isOver(): boolean {
    const nowUs = this.#clock.nowUs();
    return nowUs - this.#lastUs > this.#spinUs || this.#rest.isResting(nowUs);
  }

  #round(): boolean {
    let hasWorked = false;
    // A turn may end its client, and so change the set.
    for (const client of this.#clients) if (client.turn()) hasWorked = true;
    return hasWorked;
  }

  #sleep(): boolean {
    let canSleep = true;
    for (const client of this.#clients) if (!client.sleep()) canSleep = false;
    if (canSleep) this.#isRunning = false;
    else for (const client of this.#clients) client.wake();
    return canSleep;
  }
}
