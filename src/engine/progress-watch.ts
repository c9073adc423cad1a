// Whether a session confirms what it owes, fast enough. Signs of life do not count: a connection
// that is made anew, bytes that a kernel takes, a frame that never ends. Pure; time is steady time,
// in which this process ran.

import { formatBytes } from '../base/units.js';

export interface ProgressLimits {
  readonly reconnectMs: number;
  readonly progressMs: number;
  /** Bytes per second. */
  readonly minRate: number;
}

/** What a session has in flight now. */
export interface SessionWork {
  /** Of the oldest and the newest transfer, in the order of their posts. */
  readonly oldest: number;
  readonly newest: number;
  /** Of everything that was ever posted on the session. */
  readonly confirmedBytes: number;
  /** When the first of those that are given up, and not free yet, was; Infinity for none. */
  readonly givenUpUs: number;
  /** Something waits for an event of this machine: nobody can be blamed. */
  readonly isHeldHere: boolean;
}

interface Mark {
  readonly us: number;
  readonly newest: number;
  readonly confirmedBytes: number;
}

/** How long a session with work in flight may confirm too little. */
export function patienceMs({ reconnectMs, progressMs }: ProgressLimits): number {
  return reconnectMs + progressMs;
}

/** When a transfer has ended at the latest, with so many bytes in flight on its session. */
export function settleBoundMs(limits: ProgressLimits, bytes: number): number {
  return (bytes / limits.minRate) * 1000 + 2 * patienceMs(limits);
}

export class ProgressWatch {
  /** Of transfers that have ended. */
  endedBytes = 0;
  #mark: Mark | undefined;

  /** Nothing is in flight. */
  rest(): void {
    this.#mark = undefined;
  }

  /** Why the peer is given up, or nothing. `lookMs`: until it is asked again. */
  look(
    nowUs: number,
    work: SessionWork,
    limits: ProgressLimits,
    lookMs: number,
  ): string | undefined {
    const timeMs = patienceMs(limits);
    // Looked at now and then: what would be over before the next look is over now.
    const endUs = (timeMs - lookMs) * 1000;
    if (nowUs - work.givenUpUs >= endUs) {
      return `a transfer that was given up is not confirmed or fenced within ${timeMs} ms`;
    }
    const mark = this.#mark;
    const dueBytes = Math.max(1, (limits.minRate * timeMs) / 1000);
    const isGood =
      mark === undefined ||
      work.isHeldHere ||
      work.oldest > mark.newest ||
      work.confirmedBytes - mark.confirmedBytes >= dueBytes;
    if (isGood) {
      this.#mark = { us: nowUs, newest: work.newest, confirmedBytes: work.confirmedBytes };
      return undefined;
    }
    if (nowUs - mark.us < endUs) return undefined;
    const seen = formatBytes(work.confirmedBytes - mark.confirmedBytes);
    const due = formatBytes(dueBytes);
    return `${seen} confirmed within ${timeMs} ms, session.minRateBytes asks for ${due}`;
  }
}
