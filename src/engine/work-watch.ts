// Looks now and then at what the sessions of an engine have in flight, as long as there is
// anything: a peer that confirms too little, whatever it does otherwise, loses its session.

import type { Clock } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import type { Timers } from '../base/timers.js';
import type { ProgressLimits, ProgressWatch } from './progress-watch.js';
import { patienceMs } from './progress-watch.js';

/** At most; less where the limits are short. */
const LOOK_MS = 500;
const LOOKS_MIN = 16;
/** After a longer pause than so many looks this thread did not run: nobody is blamed for it. */
const PAUSE_LOOKS = 4;

interface WatchedSession {
  readonly progress: ProgressWatch;
  readonly peer: string;
  isEnding(): boolean;
}

/** One transfer in flight. */
export interface WatchedWork<S> {
  readonly session: S;
  /** Counts posts. */
  readonly serial: number;
  /** Steady time at which it was given up; Infinity while it is wanted. */
  readonly givenUpUs: number;
  readonly confirmedBytes: number;
  /** It waits for an event of this machine. */
  readonly isHeldHere: boolean;
}

export interface WorkWatchOptions<S> {
  readonly timers: Timers;
  readonly clock: Clock;
  readonly limits: ProgressLimits;
  /** What is watched; looked at anew each time. */
  inFlight(): Iterable<WatchedWork<S>>;
  lose(session: S, error: TcpxError): void;
}

interface Tally {
  oldest: number;
  newest: number;
  confirmedBytes: number;
  givenUpUs: number;
  isHeldHere: boolean;
}

export class WorkWatch<S extends WatchedSession> {
  readonly #options: WorkWatchOptions<S>;
  readonly #lookMs: number;
  #seenUs = 0;
  #steadyUs = 0;
  #isArmed = false;
  /** Sessions that had work at the last look. */
  #busy: ReadonlySet<S> = new Set();

  constructor(options: WorkWatchOptions<S>) {
    this.#options = options;
    this.#lookMs = Math.min(LOOK_MS, patienceMs(options.limits) / LOOKS_MIN);
  }

  /** Time in which this thread looked, by which transfers that are given up are timed. */
  get steadyUs(): number {
    return this.#steadyUs;
  }

  /** There is work. */
  arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#seenUs = this.#options.clock.nowUs();
    this.#lookLater();
  }

  #lookLater(): void {
    const atUs = this.#options.clock.nowUs() + this.#lookMs * 1000;
    this.#options.timers.at(atUs, () => this.#look());
  }

  #look(): void {
    const { clock, limits } = this.#options;
    const nowUs = clock.nowUs();
    const passedUs = nowUs - this.#seenUs;
    const lookUs = this.#lookMs * 1000;
    this.#steadyUs += passedUs > PAUSE_LOOKS * lookUs ? lookUs : passedUs;
    this.#seenUs = nowUs;
    const tallies = this.#tally();
    for (const session of this.#busy) if (!tallies.has(session)) session.progress.rest();
    this.#busy = new Set(tallies.keys());
    this.#isArmed = tallies.size > 0;
    if (this.#isArmed) this.#lookLater();
    for (const [session, work] of tallies) {
      if (session.isEnding()) continue;
      const why = session.progress.look(this.#steadyUs, work, limits, this.#lookMs);
      if (why === undefined) continue;
      const { peer } = session;
      const facts = { peer, minRate: limits.minRate, patienceMs: patienceMs(limits) };
      const error = new TcpxError('ERR_PEER_TIMEOUT', `${peer}: ${why}`, { facts });
      this.#options.lose(session, error);
    }
  }

  #tally(): Map<S, Tally> {
    const tallies = new Map<S, Tally>();
    for (const work of this.#options.inFlight()) {
      const { session, serial } = work;
      let tally = tallies.get(session);
      if (tally === undefined) {
        tally = {
          oldest: serial,
          newest: serial,
          confirmedBytes: session.progress.endedBytes,
          givenUpUs: Number.POSITIVE_INFINITY,
          isHeldHere: false,
        };
        tallies.set(session, tally);
      }
      tally.oldest = Math.min(tally.oldest, serial);
      tally.newest = Math.max(tally.newest, serial);
      tally.givenUpUs = Math.min(tally.givenUpUs, work.givenUpUs);
      tally.confirmedBytes += work.confirmedBytes;
      tally.isHeldHere ||= work.isHeldHere;
    }
    return tallies;
  }
}
