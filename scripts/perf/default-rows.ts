// What a user gets who sets nothing, against the best of a sweep by hand over numbers of channels
// and lanes, in turn.

import { availableParallelism } from 'node:os';
import type { SettingValues } from '../../src/base/settings.js';
import { benchInTurn, checkShape } from './in-turn.js';
import type { PerfGroup } from './rows.js';
import { atLeastInTurn, type PerfRow } from './verdict.js';

interface Size {
  readonly name: string;
  readonly shape: Partial<SettingValues>;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const BAR = 0.95;
const SETS_PER_ROUND = 3;
const GBPS = { name: 'GB/s', scale: 1e9 };

function size(name: string, bytes: number, warmup: number, iterations: number, block = 0): Size {
  const counts = { 'bench.warmup': warmup, 'bench.iterations': iterations };
  return { name, shape: { ...counts, 'bench.sizeBytes': bytes, 'bench.blockBytes': block } };
}

/** Warm-ups of about two seconds of each shape's own time: until the hot code is compiled. */
const SIZES: readonly Size[] = [
  size('64 KiB', 64 * KIB, 40_000, 20_000),
  size('1 MiB', MIB, 8000, 4000),
  size('64 MiB', 64 * MIB, 180, 80),
  size('10,000 × 16 KiB', 10_000 * 16 * KIB, 70, 40, 16 * KIB),
];

/** Channels, each on a lane of its own, as far as there are cores for them. */
function sweep(): Partial<SettingValues>[] {
  const most = Math.max(2, Math.floor(availableParallelism() / 2));
  return [1, 2, 4, 8]
    .filter((count) => count <= most)
    .map((count) => ({ 'flow.channels': count, 'lane.count': count }));
}

export const defaults: PerfGroup = {
  name: 'defaults',
  async run(rounds) {
    const rows: PerfRow[] = [];
    for (const { name, shape } of SIZES) {
      for (const op of ['write', 'read'] as const) {
        const common = {
          ...shape,
          'bench.op': op,
          'bench.verify': 'none',
          'bench.warmupSeconds': 0,
        } as const;
        const shapes = [{}, ...sweep()].map((flags) => ({ ...common, ...flags }));
        await checkShape(common);
        const rates = shapes.map((): number[] => []);
        for (let set = 0; set < rounds * SETS_PER_ROUND; set++) {
          for (const [index, rate] of (await benchInTurn(shapes)).entries()) {
            rates[index]?.push(rate);
          }
        }
        const [ours = [], ...others] = rates;
        const what = `${op.toUpperCase()} ${name}, nothing set, vs the best by hand`;
        rows.push(atLeastInTurn(what, ours, others, BAR, GBPS));
      }
    }
    return rows;
  },
};
