// Shapes of our own benchmark in one process, in turn: the ratio between them does not hang on
// which one had the better seconds of the machine.

import { loadConfig, processEnvironment } from '../../src/base/config.js';
import { silentLog } from '../../src/base/log.js';
import type { SettingValues } from '../../src/base/settings.js';
import type { BenchResult } from '../../src/bench/bench-result.js';
import { formatTallies } from '../../src/bench/choice-tally.js';
import { runLoopback } from '../../src/bench/loopback.js';
import { Turns } from '../../src/bench/turns.js';
import { fastest } from './finalists.js';

async function benchInTurn(shapes: readonly Partial<SettingValues>[]): Promise<BenchResult[]> {
  const turns = new Turns(shapes.length);
  const results = shapes.map(async (options) => {
    try {
      return await run(options, turns);
    } catch (error) {
      turns.fail(error);
      throw error;
    }
  });
  // Whoever failed: the others end their targets before the failure is told.
  await Promise.allSettled(results);
  return await Promise.all(results);
}

/** In bytes per second: all bytes over all of the time. */
function rateOf({ bandwidthGBps }: BenchResult): number {
  return bandwidthGBps.mean * 1e9;
}

/** Each shape is checked once, then all run in turn, round by round: results by shape. */
async function resultsInTurn(
  shapes: readonly Partial<SettingValues>[],
  rounds: number,
): Promise<BenchResult[][]> {
  for (const shape of shapes) await checkShape(shape);
  const results = shapes.map((): BenchResult[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [index, one] of (await benchInTurn(shapes)).entries()) results[index]?.push(one);
  }
  return results;
}

/** The same in bytes per second. */
export async function ratesInTurn(
  shapes: readonly Partial<SettingValues>[],
  rounds: number,
): Promise<number[][]> {
  return (await resultsInTurn(shapes, rounds)).map((results) => results.map(rateOf));
}

/** A scouting round is so much shorter than one that counts. */
const SCOUTING = 0.25;
const FINALISTS = 2;

/**
 * The first shape against the best of the others, figures by shape: one short round finds the
 * finalists, and full rounds are for them alone. All eight of a sweep in every round take minutes.
 * `chosen`: what the first had, round by round.
 */
export async function ratesOfFinalists(
  ours: Partial<SettingValues>,
  others: readonly Partial<SettingValues>[],
  rounds: number,
): Promise<{ rates: number[][]; chosen: string[] }> {
  const scouted = (await benchInTurn(others.map(shortened))).map(rateOf);
  const finalists = fastest(others, scouted, FINALISTS);
  const results = await resultsInTurn([ours, ...finalists], rounds);
  const chosen = (results[0] ?? []).map((result) => formatTallies(result.chosen ?? []));
  return { rates: results.map((ofShape) => ofShape.map(rateOf)), chosen };
}

function shortened(shape: Partial<SettingValues>): Partial<SettingValues> {
  const part = (count = 0): number => Math.ceil(count * SCOUTING);
  return {
    ...shape,
    'bench.iterations': part(shape['bench.iterations']),
    'bench.warmup': part(shape['bench.warmup']),
  };
}

/** A run of the same shape in which every byte is compared. */
async function checkShape(shape: Partial<SettingValues>): Promise<void> {
  const checked = {
    'bench.verify': 'all',
    'bench.iterations': 3,
    'bench.warmup': 0,
    'bench.warmupSeconds': 0,
  } as const;
  const { verified } = await run({ ...shape, ...checked }, undefined);
  if (verified.iterations < 3 || verified.mismatches > 0) {
    throw new Error(`${JSON.stringify(shape)}: ${JSON.stringify(verified)}`);
  }
}

async function run(options: Partial<SettingValues>, turns: Turns | undefined) {
  const config = loadConfig({ options, environment: processEnvironment() });
  return await runLoopback({ config, log: silentLog, onProgress: () => undefined, turns });
}
