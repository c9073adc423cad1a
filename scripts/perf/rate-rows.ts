// How many small things a second, with default settings; of UCX the one that its benchmark has.

import { processEnvironment } from '../../src/base/config.js';
import { isInstalled } from '../../src/base/installed.js';
import { runUcx } from '../../src/bench/peers/ucx.js';
import { DEPTH, RATES, type RateName, RatesBench, SMALL_BYTES } from '../rates/figures.js';
import {
  atLeastAlone,
  atLeastInTurn,
  notMeasured,
  type PerfGroup,
  type PerfRow,
} from './verdict.js';

const MESSAGES = { name: 'messages/s', scale: 1 };
const SECONDS = 2;
const PORT = 25_202;
/** About a second of them. */
const UCX_MESSAGES = 200_000;
const BARS: Readonly<Partial<Record<RateName, number>>> = {
  notified: 300_000,
  opened: 2000,
  described: 1_000_000,
};

export const smallRates: PerfGroup = {
  name: 'rates',
  async run(rounds) {
    const taken = new Map(RATES.map((rate) => [rate, [] as number[]]));
    const ucx: number[] = [];
    const hasUcx = isInstalled('ucx_perftest', processEnvironment());
    const bench = await RatesBench.open(SECONDS);
    try {
      // The first round warms up: hot code of both ends is compiled then.
      for (let round = 0; round <= rounds; round++) {
        for (const [rate, figures] of taken) {
          const figure = await rate.run(bench);
          if (round > 0) figures.push(figure);
          if (round > 0 && hasUcx && rate.name === 'polled') ucx.push(await ucxMessages());
        }
      }
    } finally {
      await bench.close();
    }
    return Array.from(taken, ([{ name, what, unit }, figures]): PerfRow[] => {
      const bar = BARS[name];
      if (bar !== undefined) return [atLeastAlone(`${what}, ${unit}`, figures, bar)];
      if (name !== 'polled') return [];
      const compared = `${what}, vs UCX put`;
      if (!hasUcx) return [notMeasured(compared, 'ucx_perftest is not installed')];
      return [atLeastInTurn(compared, figures, [ucx], 1.5, MESSAGES)];
    }).flat();
  },
};

async function ucxMessages(): Promise<number> {
  const shape = { sizeBytes: SMALL_BYTES, iterations: UCX_MESSAGES, outstanding: DEPTH };
  const { bytesPerSecond } = await runUcx({ test: 'ucp_put_bw', port: PORT, ...shape });
  if (bytesPerSecond === undefined) throw new Error('ucx_perftest gave no rate');
  return bytesPerSecond / SMALL_BYTES;
}
