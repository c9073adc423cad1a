// Warnings that a peer can cause at will: so many a second are written, the rest are counted and
// the count is written with the next one. A hostile peer must not fill the disk.

import { type Clock, systemClock } from './clock.js';
import type { Log, LogFields } from './log.js';

/** Lines per second and source of warnings. */
export const WARNINGS_PER_SECOND = 20;
const SECOND_US = 1_000_000;

export class LimitedLog {
  readonly #log: Log;
  readonly #clock: Clock;
  #sinceUs = Number.NEGATIVE_INFINITY;
  #written = 0;
  #suppressed = 0;

  constructor(log: Log, clock: Clock = systemClock) {
    this.#log = log;
    this.#clock = clock;
  }

  warn(event: string, fields: LogFields): void {
    const nowUs = this.#clock.nowUs();
    if (nowUs - this.#sinceUs >= SECOND_US) {
      this.#sinceUs = nowUs;
      this.#written = 0;
    }
    if (this.#written >= WARNINGS_PER_SECOND) {
      this.#suppressed++;
      return;
    }
    this.#written++;
    const suppressed = this.#suppressed === 0 ? undefined : this.#suppressed;
    this.#suppressed = 0;
    this.#log.warn(event, { ...fields, suppressed });
  }
}
