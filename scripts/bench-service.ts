// `npm run bench:service`: what a transfer costs through the node service, beside the engine in a
// process of its own: one run of each in turn, so that a ratio does not hang on whose seconds were
// the better ones. Two services in two network namespaces, and two clients of one service; needs
// root. Figures of a machine that has other work are of no use.

import { loadavg } from 'node:os';
import {
  addMemory,
  type End,
  load,
  type RunningService,
  ServiceWorld,
} from '../test/service/service-world.js';
import { netLabObstacle, openNetLab } from '../test/support/net-lab.js';
import { ownBench } from './perf/own-bench.js';
import { readCount, readWords, refuse } from './words.js';

const USAGE = `npm run bench:service [-- --rounds N]
  64 MiB WRITE and 4 KiB post to done through services, as ratios to tcpx bench loopback`;
const LARGE = 64 * 1024 * 1024;
const LARGE_POSTS = 12;
const SMALL = 4096;
const SMALL_POSTS = 2000;
const BUSY_LOAD = 0.5;

/** Takes a figure of itself: GB/s for large transfers, µs for small ones. */
interface Row {
  readonly name: string;
  /** Of the engine alone, which the others are compared with. */
  readonly base?: string;
  readonly unit: 'GB/s' | 'µs';
  take(): Promise<number>;
}

function engineRows(): Row[] {
  const flags = ['--verify', 'none', '--warmup-seconds', '0', '--warmup', '3'];
  const large = ['--size', '64MiB', '--iters', `${LARGE_POSTS}`];
  const small = ['--size', '4KiB', '--iters', `${SMALL_POSTS}`];
  return [
    {
      name: 'engine 64 MiB',
      unit: 'GB/s',
      take: async () => (await ownBench([...flags, ...large])).bandwidthGBps.mean,
    },
    {
      name: 'engine 4 KiB',
      unit: 'µs',
      take: async () => (await ownBench([...flags, ...small])).latencyUs.p50,
    },
  ];
}

/** Shared and copied memory between two clients, large and small. */
async function serviceRows(where: string, from: End, to: End): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [kind, way] of [
    ['alloc', 'shared'],
    ['malloc', 'copied'],
  ] as const) {
    const here = await addMemory(from, LARGE, kind);
    const there = await addMemory(to, LARGE, kind);
    const { peer, region } = await load(from, to, there);
    const prepare = (bytes: number) =>
      from.program.do(`prepare ${peer} ${here.id} ${region} ${bytes}`);
    const [large, small] = [await prepare(LARGE), await prepare(SMALL)];
    const repeat = async (request: string, count: number) => {
      const said = await from.program.do(`repeat ${request} ${count}`);
      const [medianUs = 0, , totalUs = 0] = said.split(' ').map(Number);
      return { medianUs, totalUs };
    };
    await repeat(large, 2);
    rows.push({
      name: `${where}, ${way} 64 MiB`,
      base: 'engine 64 MiB',
      unit: 'GB/s',
      take: async () => LARGE / (await repeat(large, LARGE_POSTS)).medianUs / 1000,
    });
    rows.push({
      name: `${where}, ${way} 4 KiB`,
      base: 'engine 4 KiB',
      unit: 'µs',
      take: async () => (await repeat(small, SMALL_POSTS)).medianUs,
    });
  }
  return rows;
}

function median(figures: readonly number[]): number {
  const sorted = [...figures].sort((left, right) => left - right);
  return sorted[Math.trunc(sorted.length / 2)] ?? Number.NaN;
}

async function measure(rows: readonly Row[], rounds: number): Promise<void> {
  const taken = new Map(rows.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++) {
    for (const row of rows) taken.get(row.name)?.push(await row.take());
  }
  for (const { name, base, unit } of rows) {
    const figure = median(taken.get(name) ?? []);
    const ratio =
      base === undefined
        ? ''
        : `  ${(figure / median(taken.get(base) ?? [])).toFixed(2)} × ${base}`;
    process.stdout.write(`${name}: ${figure.toFixed(2)} ${unit}${ratio}\n`);
  }
}

async function main(): Promise<void> {
  const { values } = readWords(USAGE, { options: { rounds: { type: 'string', default: '5' } } });
  const rounds = readCount('--rounds', values.rounds);
  const obstacle = netLabObstacle();
  if (obstacle !== undefined) refuse(obstacle);
  const [load1 = 0] = loadavg();
  if (load1 > BUSY_LOAD) {
    process.stdout.write(
      `load ${load1.toFixed(1)}: other work runs here; figures are indicative\n`,
    );
  }
  const lab = openNetLab([0]);
  const world = new ServiceWorld();
  try {
    const env = { NIXL_TCPX_TRUST_SECRET: 'a secret for two services' };
    const start = (end: 'left' | 'right'): Promise<RunningService> =>
      world.service({ env, inside: (words) => lab.inside(end, words) });
    const [left, right] = await Promise.all([start('left'), start('right')]);
    const [a, b, c] = [
      await world.end(left, 'alice'),
      await world.end(right, 'bob'),
      await world.end(left, 'carol'),
    ];
    const rows = [
      ...engineRows(),
      ...(await serviceRows('two services', a, b)),
      ...(await serviceRows('one service', a, c)),
    ];
    await measure(rows, rounds);
  } finally {
    await world.close();
    lab.close();
  }
}

await main();
