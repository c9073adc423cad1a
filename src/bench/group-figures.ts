// Several initiators that ran at once, as one figure. Pure.

import { assert } from '../base/assert.js';
import type { BenchResult } from './bench-result.js';
import { decodeHistogram, Histogram } from './histogram.js';
import type { Percentiles } from './statistics.js';

export interface GroupFigures {
  readonly ok: boolean;
  readonly bytes: number;
  /** All bytes over the time from the first start to the last end. */
  readonly wallGBps: number;
  /** Of the means of the members: each of its own timed windows. */
  readonly sumGBps: number;
  /** Part of that time in which all were at work. */
  readonly overlap: number;
  /** Jain's index of the members' rates: 1 where all are alike, 1/n where one has all. */
  readonly fairness: number;
  /** Of the transfers of all. */
  readonly latencyUs: Percentiles;
}

export function groupFigures(members: readonly BenchResult[]): GroupFigures {
  assert(members.length > 0, 'a group has members');
  const windows = members.map(({ window }) => {
    assert(window !== undefined, 'a member of a group says when it measured');
    return window;
  });
  const first = Math.min(...windows.map(({ fromMs }) => fromMs));
  const last = Math.max(...windows.map(({ toMs }) => toMs));
  const common =
    Math.min(...windows.map(({ toMs }) => toMs)) - Math.max(...windows.map(({ fromMs }) => fromMs));
  const bytes = sumOf(members.map(bytesOf));
  const rates = members.map(({ bandwidthGBps }) => bandwidthGBps.mean);
  return {
    ok: members.every(({ ok }) => ok),
    bytes,
    wallGBps: bytes / (last - first) / 1e6,
    sumGBps: sumOf(rates),
    overlap: Math.max(0, common) / (last - first),
    fairness: sumOf(rates) ** 2 / (rates.length * sumOf(rates.map((rate) => rate * rate))),
    latencyUs: mergedLatency(members),
  };
}

/** Unknown is not nothing: a sum without it would be a wrong one. */
function bytesOf({ bytesMoved }: BenchResult): number {
  assert(bytesMoved !== undefined, 'a member of a group says what it moved');
  return bytesMoved;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function mergedLatency(members: readonly BenchResult[]): Percentiles {
  const merged = new Histogram();
  for (const { histograms } of members) {
    if (histograms !== undefined) merged.merge(decodeHistogram(histograms.latencyNs));
  }
  const us = (fraction: number) => merged.percentile(fraction) / 1000;
  return { p50: us(0.5), p90: us(0.9), p99: us(0.99), max: us(1) };
}
