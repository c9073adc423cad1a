// A series of measurements of one kind. Its size is bounded: some single values in the order of
// time, to compare runs by, and a histogram of all. Percentiles are exact while every value is
// kept, and to within 0.4 % from then on.

import { type EncodedHistogram, Histogram } from './histogram.js';
import { type Percentiles, percentilesOf, rateSpreadOf, type Spread } from './statistics.js';

/** Enough to compare by, some 40 KB of text. */
export const SAMPLES_MAX = 2000;

export interface SampleSeries {
  /** One of so many is kept, in the order of time. */
  readonly every: number;
  readonly values: readonly number[];
}

const DIGITS = 6;

export class Series {
  readonly #scale: number;
  readonly #histogram = new Histogram();
  #kept: number[] = [];
  #every = 1;
  #count = 0;
  #sum = 0;
  #inverseSum = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;

  /** `scale`: from a value to the whole number that the histogram takes, as from µs to ns. */
  constructor(scale: number) {
    this.#scale = scale;
  }

  add(value: number): void {
    this.#histogram.record(value * this.#scale);
    if (this.#count % this.#every === 0) this.#keep(value);
    this.#count++;
    this.#sum += value;
    this.#inverseSum += 1 / value;
    this.#min = Math.min(this.#min, value);
    this.#max = Math.max(this.#max, value);
  }

  get count(): number {
    return this.#count;
  }

  get mean(): number {
    return this.#sum / this.#count;
  }

  percentiles(): Percentiles {
    if (this.#every === 1) return percentilesOf(this.#kept);
    const [p50, p90, p99] = [this.#rank(0.5), this.#rank(0.9), this.#rank(0.99)];
    return { p50, p90, p99, max: this.#max };
  }

  /** Of rates at which equal amounts moved: the mean is all of them over all the time they took. */
  rateSpread(): Spread {
    if (this.#every === 1) return rateSpreadOf(this.#kept);
    const mean = this.#count / this.#inverseSum;
    return { mean, p50: this.#rank(0.5), min: this.#min, max: this.#max };
  }

  samples(): SampleSeries {
    // More digits than a clock has would only make files long.
    const values = this.#kept.map((value) => Number(value.toPrecision(DIGITS)));
    return { every: this.#every, values };
  }

  histogram(): EncodedHistogram {
    return this.#histogram.encode();
  }

  #keep(value: number): void {
    if (this.#kept.length === SAMPLES_MAX) {
      this.#every *= 2;
      this.#kept = this.#kept.filter((_, index) => index % 2 === 0);
      if (this.#count % this.#every !== 0) return;
    }
    this.#kept.push(value);
  }

  #rank(fraction: number): number {
    return this.#histogram.percentile(fraction) / this.#scale;
  }
}
