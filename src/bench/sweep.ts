// A sweep: every combination of some settings is measured once, what is far behind is dropped, the
// rest is measured again in rounds. The best for each size is held against the next one. What was
// measured is handed out after each run, so that a sweep that was interrupted can go on.

import { assert } from '../base/assert.js';
import { loadConfig } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import { type SettingName, settingOf } from '../base/settings.js';
import { parseBytes } from '../base/units.js';
import type { BenchResult } from './bench-result.js';
import { compareSpeeds, type SpeedComparison } from './ratio-verdict.js';
import { medianOf } from './statistics.js';
import type { WireBytes } from './wire-bytes.js';

export type SweepAxes = Partial<Readonly<Record<SettingName, readonly string[]>>>;

export interface SweepPoint {
  readonly key: string;
  readonly settings: Partial<Readonly<Record<SettingName, string>>>;
}

export interface SweepRun {
  /** Of iterations, in the order of time. */
  readonly rates: readonly number[];
  readonly latencyP50Us: number;
  readonly bytes: number;
  readonly wireBytes: WireBytes;
  readonly evidence: BenchResult['evidence'];
}

/** By the key of the point. */
export type SweepRuns = Record<string, SweepRun[]>;

export interface SweepOutcome {
  readonly size: string;
  readonly best: SweepPoint;
  readonly medianRate: number;
  readonly latencyP50Us: number;
  readonly points: number;
  /** Points that were measured to the end. */
  readonly finalists: number;
  /** The best against the next one; absent where there is none. */
  readonly margin: SpeedComparison | undefined;
}

export interface SweepOptions {
  readonly rounds: number;
  /** What is slower than the best of its size by this part, after one run, is dropped. */
  readonly prune: number;
  onRun(done: number, point: SweepPoint): void;
}

const POINTS_MAX = 2000;
const SIZE: SettingName = 'bench.sizeBytes';
const MARGIN = 0.02;

/** `a,b,c`, or `a..b`, which doubles. */
export function expandAxis(name: SettingName, text: string): string[] {
  const ends = /^(.+)\.\.(.+)$/.exec(text);
  const values = ends === null ? text.split(',') : doubled(name, ends[1] ?? '', ends[2] ?? '');
  const checked = values.map((value) => {
    const parsed = loadConfig({ flags: { [name]: value.trim() } }).values[name];
    return String(parsed);
  });
  return [...new Set(checked)];
}

function doubled(name: SettingName, firstText: string, lastText: string): string[] {
  const isBytes = settingOf(name).kind === 'bytes';
  const read = (text: string) => (isBytes ? parseBytes(text) : Number(text));
  const [first = Number.NaN, last = Number.NaN] = [read(firstText), read(lastText)];
  if (!(first > 0 && last >= first)) {
    const flag = settingOf(name).flag ?? name;
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `--${flag} ${firstText}..${lastText}: a range goes from a number up to another`,
    );
  }
  const values: string[] = [];
  for (let value = first; value < last; value *= 2) values.push(String(value));
  return [...values, String(last)];
}

export function pointsOf(axes: SweepAxes): SweepPoint[] {
  const entries = Object.entries(axes) as [SettingName, readonly string[]][];
  const count = entries.reduce((product, [, values]) => product * values.length, 1);
  if (count > POINTS_MAX) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${count} combinations, at most ${POINTS_MAX}`);
  }
  let settings: SweepPoint['settings'][] = [{}];
  for (const [name, values] of entries) {
    settings = settings.flatMap((one) => values.map((value) => ({ ...one, [name]: value })));
  }
  return settings.map((one) => ({ key: keyOf(one), settings: one }));
}

function keyOf(settings: SweepPoint['settings']): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

/** `runs`: of an earlier attempt; what is measured is added to it. */
export async function runSweep(
  points: readonly SweepPoint[],
  measure: (point: SweepPoint) => Promise<SweepRun>,
  runs: SweepRuns,
  options: SweepOptions,
): Promise<SweepOutcome[]> {
  const groups = groupsOf(points);
  for (let round = 0; round < options.rounds; round++) {
    const chosen =
      round === 0 ? points : groups.flatMap((group) => survivors(group, runs, options));
    for (const point of chosen) {
      const own = runs[point.key] ?? [];
      if (own.length > round) continue;
      runs[point.key] = [...own, await measure(point)];
      options.onRun(countRuns(runs), point);
    }
  }
  return outcomesSoFar(points, runs, options);
}

/** Of what has been measured, whether or not the sweep came to its end. */
export function outcomesSoFar(
  points: readonly SweepPoint[],
  runs: SweepRuns,
  options: Pick<SweepOptions, 'prune'>,
): SweepOutcome[] {
  const measured = points.filter(({ key }) => (runs[key]?.length ?? 0) > 0);
  return groupsOf(measured).map((group) => outcomeOf(group, runs, options));
}

/** Points of one size are held against each other. */
function groupsOf(points: readonly SweepPoint[]): SweepPoint[][] {
  const sizes = [...new Set(points.map(sizeOf))];
  return sizes.map((size) => points.filter((point) => sizeOf(point) === size));
}

function sizeOf({ settings }: SweepPoint): string {
  return settings[SIZE] ?? '';
}

function countRuns(runs: SweepRuns): number {
  return Object.values(runs).reduce((sum, list) => sum + list.length, 0);
}

/** By the first run alone, so that it is the same whenever it is asked. */
function survivors(
  group: readonly SweepPoint[],
  runs: SweepRuns,
  { prune }: Pick<SweepOptions, 'prune'>,
) {
  const first = (point: SweepPoint) => medianOf(runs[point.key]?.[0]?.rates ?? []);
  const best = Math.max(...group.map(first));
  return group.filter((point) => first(point) >= (1 - prune) * best);
}

function outcomeOf(
  group: readonly SweepPoint[],
  runs: SweepRuns,
  options: Pick<SweepOptions, 'prune'>,
): SweepOutcome {
  const finalists = survivors(group, runs, options);
  const ranked = [...group].sort((a, b) => rateOf(b, runs) - rateOf(a, runs));
  const [best, next] = ranked;
  assert(best !== undefined, 'a sweep has a best point');
  const rates = (point: SweepPoint) => (runs[point.key] ?? []).map((run) => run.rates);
  const latencies = (runs[best.key] ?? []).map(({ latencyP50Us }) => latencyP50Us);
  return {
    size: sizeOf(best),
    best,
    medianRate: rateOf(best, runs),
    latencyP50Us: medianOf(latencies),
    points: group.length,
    finalists: finalists.length,
    margin:
      next === undefined ? undefined : compareSpeeds(rates(next), rates(best), { margin: MARGIN }),
  };
}

function rateOf(point: SweepPoint, runs: SweepRuns): number {
  return medianOf((runs[point.key] ?? []).map(({ rates }) => medianOf(rates)));
}
