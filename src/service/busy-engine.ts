// Whether the engine of a client gets turn after turn: while there is something to do, and for a
// while after. Each of its looks asks the sockets, which an engine that has been quiet should not
// cost the others.

import { type Clock, systemClock } from '../base/clock.js';
import { FLOAT_ZERO } from '../base/float-zero.js';
import type { ClientEngine } from './client-engine.js';

/** What of the engine this is about. */
export type TurnedEngine = Pick<
  ClientEngine,
  'hasOwnLane' | 'toldCount' | 'turn' | 'hold' | 'letGo'
>;

export class BusyEngine {
  readonly #engine: TurnedEngine;
  readonly #lookUs: number;
  readonly #clock: Clock;
  #isHeld = false;
  #toldCount = 0;
  /** When there was something last. */
  #busyUs = FLOAT_ZERO;

  /** `lookUs`: so long it is looked at again after there was something. */
  constructor(engine: TurnedEngine, lookUs: number, clock: Clock = systemClock) {
    this.#engine = engine;
    this.#lookUs = lookUs;
    this.#clock = clock;
  }

  /** A turn, if one is due; whether there was something. */
  turn(hasCommands: boolean, hasTransfers: boolean): boolean {
    const { hasOwnLane, toldCount } = this.#engine;
    if (!hasOwnLane) return hasTransfers && this.#engine.turn() > 0;
    const isTold = toldCount !== this.#toldCount;
    this.#toldCount = toldCount;
    if (!this.#isHeld && !hasCommands && !isTold) {
      // Lanes with threads may have finished something.
      return hasTransfers && this.#engine.turn() > 0;
    }
    if (!this.#isHeld) this.#engine.hold();
    this.#isHeld = true;
    const hasMoved = this.#engine.turn() > 0;
    const nowUs = this.#clock.nowUs();
    if (hasMoved || hasCommands || isTold) this.#busyUs = nowUs;
    else if (nowUs - this.#busyUs > this.#lookUs) this.sleep();
    return hasMoved || isTold;
  }

  /** No more turns. False where there is something to do. */
  sleep(): boolean {
    if (!this.#isHeld) return true;
    this.#isHeld = !this.#engine.letGo();
    // Held on its way out: whoever gives turns goes on.
    if (this.#isHeld) this.#engine.hold();
    return !this.#isHeld;
  }
}
