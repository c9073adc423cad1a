// The agent against the engine that it stands on, polled as NIXL's users do; and peers on one host
// over shared memory, against one core's copy.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { COLD_BYTES, measureCopies } from '../../src/measure/copy-rate.js';
import { openSides, type Side } from '../bench-agent/sides.js';
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

export const agent: PerfGroup = {
  name: 'agent',
  async run(rounds) {
    const rows = [];
    for (const [name, blocks, blockBytes, posts] of SIZES) {
      const { engine, agent: ours } = await ratesOf(blocks, blockBytes, posts, rounds);
      const what = `WRITE ${name}, agent, lanes, polled, vs the engine`;
      rows.push(atLeastInTurn(what, ours, [engine], 0.95, GBPS));
    }
    return rows;
  },
};

async function ratesOf(blocks: number, blockBytes: number, posts: number, rounds: number) {
  const child = spawn(process.execPath, [TARGET, '--target', 'lanes'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
    const sides = await openSides(line.trim(), 'lanes', blocks, blockBytes);
    const rates = { engine: [] as number[], agent: [] as number[] };
    for (let leftMs = 2 * WARM_MS; leftMs > 0; ) {
      leftMs -= turnMs(sides.engine, posts) + turnMs(sides.agent, posts);
    }
    for (let round = 0; round < rounds; round++) {
      const took = roundMs(sides, posts);
      const bytes = TURNS * posts * sides.engine.bytes;
      rates.engine.push((bytes * 1000) / took.engine);
      rates.agent.push((bytes * 1000) / took.agent);
    }
    await sides.close();
    return rates;
  } finally {
    child.stdin.end();
    await once(child, 'exit');
  }
}

/** Each is first in every other turn. */
function roundMs(sides: { readonly engine: Side; readonly agent: Side }, posts: number) {
  const took = { engine: 0, agent: 0 };
  for (let turn = 0; turn < TURNS; turn++) {
    const order = turn % 2 === 0 ? (['engine', 'agent'] as const) : (['agent', 'engine'] as const);
    for (const name of order) took[name] += turnMs(sides[name], posts);
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
