// What an initiator counts: iterations, transfers and checks of the measured part of a run.

import { systemClock } from '../base/clock.js';
import type { Receipt, Transfer } from '../engine/internal.js';
import { ChoiceTallies } from './choice-tally.js';
import type { BenchInterval } from './interval-meter.js';
import { IntervalMeter, type IntervalMeterOptions } from './interval-meter.js';
import { Series } from './samples.js';

const NS_PER_US = 1000;
/** Histograms of rates are in kB/s. */
const KILO = 1e-3;

export class BenchMeter {
  readonly bytesPerSecond = new Series(KILO);
  /** Post to confirmed, of each transfer; half round trips of a ping-pong. */
  readonly latencyUs = new Series(NS_PER_US);
  /** In the call that posts, and from its end to the confirmation. */
  readonly postUs = new Series(NS_PER_US);
  readonly flightUs = new Series(NS_PER_US);
  /** What transfers were given that nobody had set. */
  readonly choices = new ChoiceTallies();
  bytesMoved = 0;
  verified = 0;
  mismatches = 0;
  /** First byte that differed, −1 without one. */
  mismatchAt = -1;
  lastRate = 0;
  /** Of the last transfer. */
  receipt: Receipt | undefined;
  readonly #intervals: IntervalMeter;

  constructor(intervals: IntervalMeterOptions) {
    this.#intervals = new IntervalMeter(intervals);
  }

  startIntervals(): void {
    this.#intervals.start(systemClock.nowUs());
  }

  finishIntervals(): readonly BenchInterval[] {
    return this.#intervals.finish(systemClock.nowUs());
  }

  /** Transfers that were posted together have all ended. */
  countIteration(bytes: number, durationUs: number, nowUs: number): void {
    this.bytesMoved += bytes;
    this.lastRate = (bytes / durationUs) * 1e6;
    this.bytesPerSecond.add(this.lastRate);
    this.#intervals.add(nowUs, bytes, durationUs);
  }

  countTransfer(transfer: Transfer, postUs: number): void {
    const receipt = transfer.receipt();
    const { durationUs } = receipt;
    this.latencyUs.add(durationUs);
    this.choices.add(receipt);
    this.postUs.add(postUs);
    // The transfer's own clock starts within the call.
    this.flightUs.add(Math.max(0, durationUs - postUs));
  }

  /** It had ended by `nowUs`: those of a slice are counted together. */
  countHalfTrip(bytes: number, durationUs: number, nowUs: number): void {
    this.latencyUs.add(durationUs);
    this.lastRate = (bytes / durationUs) * 1e6;
    this.bytesPerSecond.add(this.lastRate);
    this.bytesMoved += bytes;
    this.#intervals.add(nowUs, bytes, durationUs);
  }

  countVerified(mismatchAt: number): void {
    this.verified++;
    if (mismatchAt < 0) return;
    this.mismatches++;
    if (this.mismatchAt < 0) this.mismatchAt = mismatchAt;
  }
}
