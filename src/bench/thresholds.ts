// Limits that decide the exit code of a benchmark, as `--fail-below` and `--fail-above` name them.
// Pure.

import { TcpxError } from '../base/errors.js';
import { didYouMean } from '../base/suggestion.js';
import type { BenchResult } from './bench-result.js';
import { medianOf } from './statistics.js';

export interface Threshold {
  /** A figure on this side of the limit fails. */
  readonly relation: 'below' | 'above';
  readonly metric: MetricName;
  readonly limit: number;
}

export interface ThresholdVerdict extends Threshold {
  /** Undefined where the run does not have the figure, which then fails. */
  readonly value: number | undefined;
  readonly ok: boolean;
}

const METRICS = {
  bandwidth: (run: BenchResult) => run.bandwidthGBps.p50,
  'bandwidth.mean': (run: BenchResult) => run.bandwidthGBps.mean,
  'bandwidth.min': (run: BenchResult) => run.bandwidthGBps.min,
  'latency.p50': (run: BenchResult) => run.latencyUs.p50,
  'latency.p90': (run: BenchResult) => run.latencyUs.p90,
  'latency.p99': (run: BenchResult) => run.latencyUs.p99,
  'latency.max': (run: BenchResult) => run.latencyUs.max,
  cpu: (run: BenchResult) => run.cpuSecondsPerGB.initiator + run.cpuSecondsPerGB.target,
  'cpu.initiator': (run: BenchResult) => run.cpuSecondsPerGB.initiator,
  'cpu.target': (run: BenchResult) => run.cpuSecondsPerGB.target,
  retransmits: retransmitsOf,
} as const;
type MetricName = keyof typeof METRICS;

export const METRIC_NAMES = Object.keys(METRICS) as readonly MetricName[];

/** Of the initiator's connections; a count that the kernel does not keep is −1. */
function retransmitsOf({ kernel }: BenchResult): number | undefined {
  const counts = kernel?.channels.map(({ retransmits }) => retransmits);
  const known = counts?.filter((count) => count >= 0) ?? [];
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}

/** `4.5`, or `bandwidth=4.5,latency.p99=300`. */
export function parseThresholds(relation: Threshold['relation'], text: string): Threshold[] {
  return text.split(',').map((part) => {
    const words = part.trim().split('=');
    const [metric = '', limit = ''] = words.length === 1 ? ['bandwidth', ...words] : words;
    if (words.length > 2 || !isMetric(metric)) {
      throw refusal(relation, part, `a figure is one of ${METRIC_NAMES.join(', ')}`, metric);
    }
    const value = /^\d+(\.\d+)?$/.test(limit) ? Number(limit) : Number.NaN;
    if (!Number.isFinite(value)) throw refusal(relation, part, 'a limit is a number', limit);
    return { relation, metric, limit: value };
  });
}

function isMetric(name: string): name is MetricName {
  return Object.hasOwn(METRICS, name);
}

function refusal(relation: string, part: string, rule: string, word: string): TcpxError {
  const hint = didYouMean(word, METRIC_NAMES);
  return new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `--fail-${relation}: ${JSON.stringify(part)}: ${rule}${hint}`,
  );
}

/** Of several runs the median of each figure counts. */
export function judgeThresholds(
  thresholds: readonly Threshold[],
  runs: readonly BenchResult[],
): ThresholdVerdict[] {
  return thresholds.map((threshold) => {
    const values = runs.map((run) => METRICS[threshold.metric](run));
    const known = values.filter((value) => value !== undefined && !Number.isNaN(value));
    if (known.length < values.length) return { ...threshold, value: undefined, ok: false };
    const value = medianOf(known as number[]);
    const isBeyond =
      threshold.relation === 'below' ? value < threshold.limit : value > threshold.limit;
    return { ...threshold, value, ok: !isBeyond };
  });
}
