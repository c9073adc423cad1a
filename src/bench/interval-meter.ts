// Bandwidth by intervals while a benchmark runs, as iperf3 prints it. Time comes in as an argument.

export interface BenchInterval {
  /** Seconds since the first measured iteration. */
  readonly fromS: number;
  readonly toS: number;
  readonly bytes: number;
  /** 10^9 bytes per second of the timed part: filling and checking lie between iterations. */
  readonly bandwidthGBps: number;
  readonly iterations: number;
  /** Of the initiator's connections; −1 where the kernel does not count them. */
  readonly retransmits: number;
}

export interface IntervalMeterOptions {
  readonly seconds: number;
  /** So far, over all channels. */
  countRetransmits(): number;
  onInterval(interval: BenchInterval): void;
}

/** An hour of seconds. A longer run has longer ones in its result. */
export const INTERVALS_MAX = 3600;

export class IntervalMeter {
  readonly #options: IntervalMeterOptions;
  #intervals: BenchInterval[] = [];
  #startUs = 0;
  #fromUs = 0;
  #bytes = 0;
  #timedUs = 0;
  #iterations = 0;
  #retransmits = 0;

  constructor(options: IntervalMeterOptions) {
    this.#options = options;
  }

  start(nowUs: number): void {
    this.#startUs = nowUs;
    this.#fromUs = nowUs;
    this.#retransmits = this.#options.countRetransmits();
  }

  /** An iteration has ended now, after so long. */
  add(nowUs: number, bytes: number, timedUs: number): void {
    this.#bytes += bytes;
    this.#timedUs += timedUs;
    this.#iterations++;
    if (nowUs - this.#fromUs >= this.#options.seconds * 1e6) this.#close(nowUs);
  }

  /** The run is over: all intervals, the last one too. */
  finish(nowUs: number): readonly BenchInterval[] {
    if (this.#iterations > 0) this.#close(nowUs);
    return this.#intervals;
  }

  #close(nowUs: number): void {
    const retransmits = this.#options.countRetransmits();
    const interval: BenchInterval = {
      fromS: (this.#fromUs - this.#startUs) / 1e6,
      toS: (nowUs - this.#startUs) / 1e6,
      bytes: this.#bytes,
      bandwidthGBps: this.#bytes / this.#timedUs / 1e3,
      iterations: this.#iterations,
      retransmits: retransmits < 0 ? -1 : retransmits - this.#retransmits,
    };
    this.#fromUs = nowUs;
    this.#bytes = 0;
    this.#timedUs = 0;
    this.#iterations = 0;
    this.#retransmits = retransmits;
    this.#options.onInterval(interval);
    if (this.#intervals.length === INTERVALS_MAX) this.#intervals = joinPairs(this.#intervals);
    this.#intervals.push(interval);
  }
}

function joinPairs(intervals: readonly BenchInterval[]): BenchInterval[] {
  const joined: BenchInterval[] = [];
  for (let index = 0; index < intervals.length; index += 2) {
    const [first, second] = intervals.slice(index, index + 2);
    if (first !== undefined) joined.push(second === undefined ? first : join(first, second));
  }
  return joined;
}

function join(first: BenchInterval, second: BenchInterval): BenchInterval {
  const bytes = first.bytes + second.bytes;
  const timedS = (one: BenchInterval) => one.bytes / one.bandwidthGBps / 1e9;
  const isCounted = first.retransmits >= 0 && second.retransmits >= 0;
  return {
    fromS: first.fromS,
    toS: second.toS,
    bytes,
    bandwidthGBps: bytes / (timedS(first) + timedS(second)) / 1e9,
    iterations: first.iterations + second.iterations,
    retransmits: isCounted ? first.retransmits + second.retransmits : -1,
  };
}
