// Whether one benchmark is slower than another: the ratio of their median speeds with a 95 %
// interval from a bootstrap. Pure, and the same for the same samples.
//
// Iterations next to each other resemble each other, because a machine has phases. So blocks of
// neighbours are drawn, not single iterations; and of several runs, runs are drawn first: how they
// differ from each other is what a change must exceed.

import { assert, at } from '../base/assert.js';
import { type Random, seededRandom } from '../base/random.js';
import { medianOf, percentile } from './statistics.js';

export type SpeedVerdict = 'same' | 'slower' | 'faster' | 'undecided';

export interface SpeedComparison {
  readonly verdict: SpeedVerdict;
  readonly reason: string;
  /** Median speed of the second over that of the first. */
  readonly ratio: number;
  /** 95 % interval of the ratio; NaN where there was too little to draw from. */
  readonly low: number;
  readonly high: number;
  readonly margin: number;
  readonly runs: { readonly first: number; readonly second: number };
  /** Whether both sides have several runs, so that the interval covers their differences. */
  readonly isBetweenRuns: boolean;
}

export interface SpeedComparisonOptions {
  /** Changes below this fraction are none: 0.05. */
  readonly margin: number;
}

/** Speeds of one run, in the order of time. */
type Run = readonly number[];

const DRAWS = 1000;
const CONFIDENCE = 0.95;
const SEED = 20_260_101;
/** Of one run: more say nothing new and take time. */
const SAMPLES_DRAWN = 600;
const BLOCKS_MAX = 50;
/** Fewer are no population to draw from. */
const BLOCKS_MIN = 6;
const RUNS_WANTED = 3;

export function compareSpeeds(
  first: readonly Run[],
  second: readonly Run[],
  { margin }: SpeedComparisonOptions,
): SpeedComparison {
  assert(first.length > 0 && second.length > 0, 'a comparison has runs on both sides');
  assert(margin > 0 && margin < 1, 'a margin is a fraction');
  const ratio = medianSpeed(second) / medianSpeed(first);
  const common = {
    ratio,
    margin,
    runs: { first: first.length, second: second.length },
    isBetweenRuns: Math.min(first.length, second.length) >= RUNS_WANTED,
  };
  if (isSameSamples(first, second)) {
    return { ...common, verdict: 'same', reason: 'the same samples', low: 1, high: 1 };
  }
  const [before, after] = [first.map(cutBlocks), second.map(cutBlocks)] as const;
  if (Math.min(before.flat().length, after.flat().length) < BLOCKS_MIN) {
    const reason = 'too few iterations';
    return { ...common, verdict: 'undecided', reason, low: Number.NaN, high: Number.NaN };
  }
  const { low, high } = bootstrapRatio(before, after);
  return { ...common, low, high, ...judge(low, high, margin) };
}

/** The interval lies wholly on one side of the margin, wholly within, or decides nothing. */
function judge(low: number, high: number, margin: number) {
  const percent = `${(100 * margin).toFixed(1).replace(/\.0$/, '')} %`;
  if (high < 1 - margin) {
    return { verdict: 'slower', reason: `by more than ${percent}, with 95 % confidence` } as const;
  }
  if (low > 1 + margin) {
    return { verdict: 'faster', reason: `by more than ${percent}, with 95 % confidence` } as const;
  }
  if (low >= 1 - margin && high <= 1 + margin) {
    return { verdict: 'same', reason: `within ${percent}, with 95 % confidence` } as const;
  }
  return { verdict: 'undecided', reason: `the interval reaches across ${percent}` } as const;
}

function isSameSamples(first: readonly Run[], second: readonly Run[]): boolean {
  return JSON.stringify(first) === JSON.stringify(second);
}

/** Blocks of neighbours; they grow with the cube root of the number of samples. */
function cutBlocks(run: Run): Run[] {
  const every = Math.ceil(run.length / SAMPLES_DRAWN);
  const drawn = run.filter((_, index) => index % every === 0);
  const length = Math.max(Math.ceil(Math.cbrt(drawn.length)), drawn.length / BLOCKS_MAX);
  const blocks: Run[] = [];
  for (let start = 0; start < drawn.length; start += Math.ceil(length)) {
    // What is left at the end is a block where it is at least half of one.
    const block = drawn.slice(start, start + Math.ceil(length));
    if (start === 0 || 2 * block.length >= length) blocks.push(block);
  }
  return blocks;
}

function medianSpeed(runs: readonly Run[]): number {
  return medianOf(runs.map(medianOf));
}

function bootstrapRatio(first: readonly Run[][], second: readonly Run[][]) {
  const random = seededRandom(SEED);
  const ratios = Array.from({ length: DRAWS }, () => {
    const before = medianSpeed(drawRuns(first, random));
    return medianSpeed(drawRuns(second, random)) / before;
  }).sort((a, b) => a - b);
  const tail = (1 - CONFIDENCE) / 2;
  return { low: percentile(ratios, tail), high: percentile(ratios, 1 - tail) };
}

function drawRuns(runs: readonly Run[][], random: Random): Run[] {
  return draw(runs, random).map((blocks) => draw(blocks, random).flat());
}

function draw<T>(population: readonly T[], random: Random): T[] {
  return population.map(() => at(population, random.nextBetween(0, population.length - 1)));
}
