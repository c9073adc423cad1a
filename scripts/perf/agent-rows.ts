// The agent against the engine that it stands on, polled as NIXL's users do; and peers on one host
// over shared memory, against one core's copy.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { COLD_BYTES, measureCopies } from '../../src/measure/copy-rate.js';
import { openListSides, openSides, type Side } from '../bench-agent/sides.js';
import { ownBench } from './own-bench.js';
import { atLeastInTurn, atMostAlone, GBPS, MICROSECONDS, type PerfGroup } from './verdict.js';

const KIB = 1024;
const MIB = 1024 * KIB;
const TARGET = fileURLToPath(new URL('../bench-agent.js', import.meta.url));
/**
 * Posts in one turn of a side, some milliseconds. A round is many turns of both: of one turn each,
 * a pause of the machine or a trial of the engine's own makes up the whole figure.
 */
const TURNS = 20;
/** Of each side before the first round: until hot code is compiled and lanes have been tried. */
const WARM_MS = 1500;
const SIZES = [
  ['64 KiB', 1, 64 * KIB, 200],
  ['1 MiB', 1, MIB, 50],
  ['64 MiB', 1, 64 * MIB, 2],
  ['10,000 × 16 KiB', 10_000, 16 * KIB, 1],
] as const;
const LIST_BLOCKS = 10_000;
const LIST_POSTS = 2;
const LISTS = 'agent, 10,000 × 1 KiB by indices into prepared lists, vs lists written per post';

export const agent: PerfGroup = {
  name: 'agent',
  async run(rounds) {
    const rows = [];
    for (const [name, blocks, blockBytes, posts] of SIZES) {
      const { engine, agent: ours } = await ratesOf(blocks, blockBytes, posts, rounds);
      const what = `WRITE ${name}, agent, lanes, polled, vs the engine`;
      rows.push(atLeastInTurn(what, ours, [engine], 0.95, GBPS));
    }
    const { written, byIndex } = await ratesOfLists(rounds);
    rows.push(atLeastInTurn(LISTS, byIndex, [written], 0.95, GBPS));
    return rows;
  },
};

async function ratesOf(blocks: number, blockBytes: number, posts: number, rounds: number) {
  return await withTarget(async (info) => {
    const { engine, agent: ours, close } = await openSides(info, 'lanes', blocks, blockBytes);
    const [theirs, rates] = ratesOfBoth([engine, ours], posts, rounds);
    await close();
    return { engine: theirs, agent: rates };
  });
}

/** Requests of so many descriptors, each made for one post. */
async function ratesOfLists(rounds: number) {
  return await withTarget(async (info) => {
    const { written, byIndex, close } = await openListSides(info, LIST_BLOCKS, KIB);
    const [plain, indexed] = ratesOfBoth([written, byIndex], LIST_POSTS, rounds);
    await close();
    return { written: plain, byIndex: indexed };
  });
}

async function withTarget<T>(measure: (info: string) => Promise<T>): Promise<T> {
  const child = spawn(process.execPath, [TARGET, '--target', 'lanes'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    return await measure(line.trim());
  } finally {
    child.stdin.end();
    await once(child, 'exit');
  }
}

type Both<T> = readonly [T, T];

/** Bytes per second, round by round. */
function ratesOfBoth(sides: Both<Side>, posts: number, rounds: number): Both<number[]> {
  for (let leftMs = 2 * WARM_MS; leftMs > 0; ) {
    for (const side of sides) leftMs -= turnMs(side, posts);
  }
  const rates: Both<number[]> = [[], []];
  for (let round = 0; round < rounds; round++) {
    const took = roundMs(sides, posts);
    for (const which of [0, 1] as const) {
      rates[which].push((TURNS * posts * sides[which].bytes * 1000) / took[which]);
    }
  }
  return rates;
}

/** Each is first in every other turn. */
function roundMs(sides: Both<Side>, posts: number): Both<number> {
  const took: [number, number] = [0, 0];
  for (let turn = 0; turn < TURNS; turn++) {
    const order = turn % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
    for (const which of order) took[which] += turnMs(sides[which], posts);
  }
  return took;
}

function turnMs(side: Side, posts: number): number {
  const startMs = performance.now();
  for (let post = 0; post < posts; post++) side.runOnce();
  return performance.now() - startMs;
}

export const local: PerfGroup = {
  name: 'local',
  async run(rounds) {
    const shared = ['--local', 'shm'];
    const [copies, writes, halfTrips]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < rounds; round++) {
      copies.push(measureCopies(COLD_BYTES) * GBPS.scale);
      const flags = [...shared, '--verify', 'none', '--seconds', '2', '--warmup-seconds', '1'];
      writes.push((await ownBench(flags)).bandwidthGBps.mean * GBPS.scale);
      const ping = [...shared, '--op', 'pingpong', '--size', '4096', '--progress', 'caller'];
      ping.push('--iters', '20000', '--warmup', '20000');
      halfTrips.push((await ownBench(ping)).latencyUs.p50);
    }
    const what = 'WRITE 64 MiB, shared memory, vs one core’s copy';
    return [
      atLeastInTurn(what, writes, [copies], 0.9, GBPS),
      atMostAlone('4 KiB half round trip, shared memory, caller', halfTrips, 3, MICROSECONDS),
    ];
  },
};
