// What limits this machine, measured: the figures of `tcpx doctor --measure`. Rounds of what is
// compared take turns, so that noise of the machine falls on all of them alike.

import { isTcpxError } from '../base/errors.js';
import { getThreadAffinity } from '../ffi/libc/cpu-affinity.js';
import { type MachineState, measureMachine } from './machine-state.js';
import { type PairCpus, type StreamFigure, ThreadPair } from './thread-pair.js';

/** Where two CPUs lie relative to each other. */
export type PairPlace = 'one CPU' | 'threads of one core' | 'one node' | 'two nodes' | 'unknown';

export interface MeasuredPair {
  readonly place: PairPlace;
  readonly first: number;
  readonly second: number;
}

export interface Samples {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export interface PairFigures extends MeasuredPair {
  /** A word between two threads that never sleep, one way. */
  readonly tripNs: Samples;
  /** Waking a thread that sleeps, one way. */
  readonly wakeUs: Samples;
  /** One TCP stream over loopback between the two CPUs. */
  readonly streamGBps: Samples;
}

export interface CongestionFigure {
  readonly name: string;
  /** undefined where the kernel does not let this process choose it. */
  readonly streamGBps: Samples | undefined;
  readonly rttUs: Samples | undefined;
  readonly reason: string | undefined;
}

export interface MachineLimits {
  readonly machine: MachineState;
  /** CPUs that this process may use. */
  readonly allowedCpus: readonly number[];
  readonly pairs: readonly PairFigures[];
  readonly congestion: readonly CongestionFigure[];
}

export interface LimitsRequest {
  readonly pairs: readonly MeasuredPair[];
  /** Names that the kernel offers. */
  readonly congestion: readonly string[];
  /** Of the streams between pairs. */
  readonly pairCongestion: string;
  readonly rounds: number;
  readonly onProgress: (text: string) => void;
}

export function allowedCpus(): readonly number[] {
  return getThreadAffinity();
}

export async function measureLimits(request: LimitsRequest): Promise<MachineLimits> {
  request.onProgress('copies, core to core');
  const machine = await measureMachine();
  const threads = new ThreadPair();
  try {
    const pairs = await measurePairs(threads, request);
    const congestion = await measureCongestion(threads, request);
    return { machine, allowedCpus: allowedCpus(), pairs, congestion };
  } finally {
    await threads.close();
  }
}

async function measurePairs(
  threads: ThreadPair,
  { pairs, pairCongestion, rounds, onProgress }: LimitsRequest,
): Promise<readonly PairFigures[]> {
  const taken = pairs.map((pair) => {
    return { pair, trips: [] as number[], wakes: [] as number[], streams: [] as number[] };
  });
  for (let round = 0; round < rounds; round++) {
    for (const { pair, trips, wakes, streams } of taken) {
      onProgress(`CPUs ${pair.first} and ${pair.second}, ${round + 1} of ${rounds}`);
      const cpus: PairCpus = { first: [pair.first], second: [pair.second] };
      trips.push(await threads.coreTripNs(cpus));
      wakes.push(await threads.wakeUs(cpus));
      streams.push((await threads.stream(pairCongestion, cpus)).gigabytesPerSecond);
    }
  }
  return taken.map(({ pair, trips, wakes, streams }) => ({
    ...pair,
    tripNs: samplesOf(trips),
    wakeUs: samplesOf(wakes),
    streamGBps: samplesOf(streams),
  }));
}

const ANYWHERE: PairCpus = { first: [], second: [] };

async function measureCongestion(
  threads: ThreadPair,
  { congestion, rounds, onProgress }: LimitsRequest,
): Promise<readonly CongestionFigure[]> {
  const taken = congestion.map((name) => {
    return { name, figures: [] as StreamFigure[], reason: undefined as string | undefined };
  });
  for (let round = 0; round < rounds; round++) {
    for (const one of taken) {
      if (one.reason !== undefined) continue;
      onProgress(`loopback with ${one.name}, ${round + 1} of ${rounds}`);
      try {
        one.figures.push(await threads.stream(one.name, ANYWHERE));
      } catch (error) {
        // Some are only for root; that is a fact about them and no failure of the measurement.
        if (!isTcpxError(error)) throw error;
        one.reason = error.message;
      }
    }
  }
  return taken.map(({ name, figures, reason }) => {
    const isKnown = reason === undefined && figures.length > 0;
    const rates = figures.map(({ gigabytesPerSecond }) => gigabytesPerSecond);
    return {
      name,
      streamGBps: isKnown ? samplesOf(rates) : undefined,
      rttUs: isKnown ? samplesOf(figures.map(({ rttUs }) => rttUs)) : undefined,
      reason,
    };
  });
}

export function samplesOf(figures: readonly number[]): Samples {
  const sorted = [...figures].sort((a, b) => a - b);
  const median = sorted[Math.floor((sorted.length - 1) / 2)];
  const min = sorted[0];
  const max = sorted.at(-1);
  if (median === undefined || min === undefined || max === undefined) {
    throw new RangeError('a figure needs a round');
  }
  return { median, min, max };
}
