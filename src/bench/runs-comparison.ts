// Two benchmarks held against each other: the verdict on their speed, the figures side by side, and
// what else differs between them. Pure.

import { TcpxError } from '../base/errors.js';
import type { BenchResult } from './bench-result.js';
import { compareSpeeds, type SpeedComparison } from './ratio-verdict.js';
import { medianOf } from './statistics.js';

export interface RunsComparison {
  /** What was compared. */
  readonly metric: string;
  readonly speed: SpeedComparison;
  /** Medians over the runs of each side. */
  readonly figures: readonly {
    readonly name: string;
    readonly first: number;
    readonly second: number;
  }[];
  readonly differences: readonly Difference[];
  readonly notes: readonly string[];
}

interface Difference {
  readonly name: string;
  readonly first: string;
  readonly second: string;
}

type Runs = readonly BenchResult[];

export function compareRuns(first: Runs, second: Runs, margin: number): RunsComparison {
  const ops = new Set([...first, ...second].map(({ op }) => op === 'pingpong'));
  if (ops.size > 1) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', 'a pingpong has no speed to hold against a transfer');
  }
  const isLatency = ops.has(true);
  const speeds = (runs: Runs) => runs.map((run) => speedsOf(run, isLatency));
  const speed = compareSpeeds(speeds(first), speeds(second), { margin });
  return {
    metric: isLatency ? 'half round trips' : 'bandwidth of iterations',
    speed,
    figures: figuresOf(first, second),
    differences: differencesOf(first, second),
    notes: notesOf(first, second, speed),
  };
}

function speedsOf({ samples, id }: BenchResult, isLatency: boolean): readonly number[] {
  const series = isLatency ? samples?.latencyUs : samples?.bandwidthGBps;
  if (series === undefined || series.values.length === 0) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `result ${id ?? 'of an earlier version'}: holds no samples to compare by; measure again`,
    );
  }
  return isLatency ? series.values.map((us) => 1 / us) : series.values;
}

const FIGURES: readonly (readonly [string, (run: BenchResult) => number])[] = [
  ['bandwidth GB/s, median', (run) => run.bandwidthGBps.p50],
  ['latency µs, p50', (run) => run.latencyUs.p50],
  ['latency µs, p99', (run) => run.latencyUs.p99],
  ['CPU s per GB, both ends', (run) => run.cpuSecondsPerGB.initiator + run.cpuSecondsPerGB.target],
];

function figuresOf(first: Runs, second: Runs): RunsComparison['figures'] {
  return FIGURES.map(([name, figure]) => ({
    name,
    first: medianOf(first.map(figure)),
    second: medianOf(second.map(figure)),
  }));
}

const FACTS = ['op', 'provider', 'path', 'memory', 'sizeBytes', 'blockBytes'] as const;

/** Of the first run of each side: the others were made by the same command. */
function differencesOf([first]: Runs, [second]: Runs): Difference[] {
  if (first === undefined || second === undefined) return [];
  const facts = FACTS.map((name) => [name, first[name], second[name]] as const);
  const names = new Set([...Object.keys(first.config), ...Object.keys(second.config)]);
  const settings = [...names]
    .filter((name) => !name.startsWith('bench.') && !name.startsWith('log.'))
    .map((name) => [name, first.config[name], second.config[name]] as const);
  return [...facts, ...settings]
    .filter(([, a, b]) => a !== b)
    .map(([name, a, b]) => ({ name, first: textOf(a), second: textOf(b) }));
}

function textOf(value: string | number | boolean | undefined): string {
  return value === undefined || value === '' ? '-' : String(value);
}

function notesOf(first: Runs, second: Runs, { verdict, isBetweenRuns }: SpeedComparison): string[] {
  const notes: string[] = [];
  const all = [...first, ...second];
  const machines = new Set(all.map(({ host, peer }) => `${host.hostname} to ${peer.hostname}`));
  if (machines.size > 1) notes.push(`not the same machines: ${[...machines].join('; ')}`);
  const classes = new Set(all.map(({ evidence }) => evidence));
  if (classes.size > 1) notes.push(`not the same evidence: ${[...classes].join(', ')}`);
  const others = FACTS.filter((name) => new Set(all.map((run) => run[name])).size > 1);
  if (others.length > 0) notes.push(`not the same work: ${others.join(', ')} differ`);
  const counts = [first, second].map(
    (runs) => runs.find(({ group }) => group)?.group?.members ?? 0,
  );
  if (counts[0] !== counts[1]) notes.push(`not the same pairs: ${counts.join(' and ')}`);
  if (all.some(({ partial }) => partial !== undefined)) notes.push('a run was cut short');
  if (all.some(({ ok }) => !ok)) notes.push('a run failed its check: its speed means nothing');
  if (!isBetweenRuns && verdict !== 'same') {
    notes.push(
      'fewer than three runs on a side: a slow phase of the machine looks like a change; ' +
        '--runs 3 or --save-baseline tell them apart',
    );
  }
  return notes;
}
