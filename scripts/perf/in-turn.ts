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
  const onProgress = (): void => undefined;
  return await Promise.all(
    shapes.map(async (options) => {
      const config = loadConfig({ options, environment: processEnvironment() });
      const result = await runLoopback({ config, log: silentLog, onProgress, turns });
      return result.bandwidthGBps.mean * 1e9;
    }),
  );
}
