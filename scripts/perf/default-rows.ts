// The main table: what a user gets who sets nothing, against the best of a sweep by hand over
// numbers of channels, lanes and ways of sending, in turn. And what the first command shows.

import { availableParallelism } from 'node:os';
import type { SettingValues } from '../../src/base/settings.js';
import { ratesOfFinalists } from './in-turn.js';
import { ownBench } from './own-bench.js';
import { atLeastInTurn, GBPS, type PerfGroup, type PerfRow } from './verdict.js';

interface Size {
  readonly name: string;
  readonly shape: Partial<SettingValues>;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const BAR = 0.95;
const START_BAR = 0.9;

function size(name: string, bytes: number, warmup: number, iterations: number, block = 0): Size {
  const counts = { 'bench.warmup': warmup, 'bench.iterations': iterations };
  return { name, shape: { ...counts, 'bench.sizeBytes': bytes, 'bench.blockBytes': block } };
}

/** Warm-ups of half a second and more of each shape's own time: until the hot code is compiled. */
const SMALL: readonly Size[] = [
  size('64 KiB', 64 * KIB, 15_000, 15_000),
  size('1 MiB', MIB, 2000, 2000),
];
const LARGE: readonly Size[] = [
  size('64 MiB', 64 * MIB, 60, 50),
  size('10,000 × 16 KiB', 10_000 * 16 * KIB, 25, 20, 16 * KIB),
];

/** As far as there are cores: half of them, and two where there are fewer. */
export function laneCounts(): number[] {
  const most = Math.max(2, Math.floor(availableParallelism() / 2));
  return [1, 2, 4, 8].filter((count) => count <= most);
}

/** Channels, each on a lane of its own, by either way of sending. */
function sweep(): Partial<SettingValues>[] {
  return laneCounts().flatMap((count) =>
    (['splice', 'copy'] as const).map((way) => {
      return { 'flow.channels': count, 'lane.count': count, 'socket.sendBy': way };
    }),
  );
}

function group(name: string, sizes: readonly Size[]): PerfGroup {
  return {
    name,
    async run(rounds) {
      const rows: PerfRow[] = [];
      for (const { name: what, shape } of sizes) {
        for (const op of ['write', 'read'] as const) {
          const common = {
            ...shape,
            'bench.op': op,
            'bench.verify': 'none',
            'bench.warmupSeconds': 0,
          } as const;
          const byHand = sweep().map((flags) => ({ ...common, ...flags }));
          const { rates, chosen } = await ratesOfFinalists(common, byHand, rounds);
          const [ours = [], ...others] = rates;
          for (const [round, kinds] of chosen.entries()) {
            process.stderr.write(`${op} ${what}, set ${round + 1}, chosen: ${kinds}\n`);
          }
          const text = `${op.toUpperCase()} ${what}, nothing set, vs the best by hand`;
          rows.push(atLeastInTurn(text, ours, others, BAR, GBPS));
        }
      }
      return rows;
    },
  };
}

export const defaultSmall = group('default-small', SMALL);
export const defaultLarge = group('default-large', LARGE);

/** `npm start` without words, every byte compared, against the same by hand. */
export const start: PerfGroup = {
  name: 'start',
  async run(rounds) {
    const shapes = [[], ...sweep().map(flagsOf)];
    const rates = shapes.map((): number[] => []);
    for (let round = 0; round < rounds; round++) {
      for (const [index, flags] of shapes.entries()) {
        const { bandwidthGBps } = await ownBench(flags);
        rates[index]?.push(bandwidthGBps.p50 * GBPS.scale);
      }
    }
    const [ours = [], ...others] = rates;
    const what = '`npm start`, verified, vs the best by hand, verified';
    return [atLeastInTurn(what, ours, others, START_BAR, GBPS)];
  },
};

function flagsOf(shape: Partial<SettingValues>): string[] {
  const channels = String(shape['flow.channels']);
  const lanes = String(shape['lane.count']);
  return ['--channels', channels, '--lanes', lanes, '--send-by', String(shape['socket.sendBy'])];
}
