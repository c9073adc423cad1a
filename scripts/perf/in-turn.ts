// Shapes of our own benchmark in one process, in turn: the ratio between them does not hang on
// which one had the better seconds of the machine.

import { loadConfig, processEnvironment } from '../../src/base/config.js';
import { silentLog } from '../../src/base/log.js';
import type { SettingValues } from '../../src/base/settings.js';
import { runLoopback } from '../../src/bench/loopback.js';
import { Turns } from '../../src/bench/turns.js';

/** Bytes per second of each shape: all bytes over all of its time. */
export async function benchInTurn(shapes: readonly Partial<SettingValues>[]): Promise<number[]> {
  const turns = new Turns(shapes.length);
  const rates = shapes.map(async (options) => {
    try {
      return (await run(options, turns)).bandwidthGBps.mean * 1e9;
    } catch (error) {
      turns.fail(error);
      throw error;
    }
  });
  // Whoever failed: the others end their targets before the failure is told.
  await Promise.allSettled(rates);
  return await Promise.all(rates);
}

/** A run of the same shape in which every byte is compared. */
export async function checkShape(shape: Partial<SettingValues>): Promise<void> {
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
