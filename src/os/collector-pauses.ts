// How long V8's collector has stopped this thread. Its profiler hears each collection as it
// happens: an observer of performance entries would need turns of the event loop, which a lane
// never takes.

import { GCProfiler } from 'node:v8';

/** Collections of garbage that stopped a thread. */
export interface Pauses {
  /** How many. */
  readonly count: number;
  /** Time of all, in µs. */
  readonly totalUs: number;
  /** Time of the longest, in µs. */
  readonly longestUs: number;
}

export class CollectorPauses {
  #profiler = startProfiler();

  /** Since the last call; some microseconds where there were none. */
  take(): Pauses {
    const { statistics } = this.#profiler.stop();
    // What it has heard is kept as text until it is stopped: a fresh one keeps that short.
    this.#profiler = startProfiler();
    const costs = statistics.map(({ cost }) => cost);
    return {
      count: costs.length,
      totalUs: costs.reduce((sum, us) => sum + us, 0),
      longestUs: costs.reduce((longest, us) => Math.max(longest, us), 0),
    };
  }

  stop(): void {
    this.#profiler.stop();
  }
}

function startProfiler(): GCProfiler {
  const profiler = new GCProfiler();
  profiler.start();
  return profiler;
}
