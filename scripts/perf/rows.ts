// The rows of the performance table that need no GPU. Every row interleaves its contenders, round
// by round, so that noise of the machine falls on all of them.

import { processEnvironment } from '../../src/base/config.js';
import { isInstalled } from '../../src/base/installed.js';
import type { Roof } from '../../src/bench/compare/comparison.js';
import { MeasuredRoofs } from '../../src/bench/compare/roofs.js';
import { runIperf3 } from '../../src/bench/peers/iperf3.js';
import { runUcx } from '../../src/bench/peers/ucx.js';
import { netLabObstacle, openNetLab } from '../../test/support/net-lab.js';
import { agent, local } from './agent-rows.js';
import { channels } from './channel-rows.js';
import { defaultLarge, defaultSmall, start } from './default-rows.js';
import { ratesInTurn } from './in-turn.js';
import { lanes } from './lane-rows.js';
import { networkBench } from './network-bench.js';
import { ownBench } from './own-bench.js';
import { smallRates } from './rate-rows.js';
import {
  atLeast,
  atLeastAlone,
  atLeastInTurn,
  atMostInTurn,
  CPU_PER_GB,
  GBPS,
  MICROSECONDS,
  notMeasured,
  type PerfGroup,
  type PerfRow,
  shareOf,
} from './verdict.js';

const MBITPS = { name: 'Mbit/s', scale: 1e6 / 8 };
const CONGESTION = 'cubic';
const BULK = ['--size', '64MiB', '--channels', '1', '--lanes', '1'];
/** Once for each shape: every byte is checked. */
const CHECKED = ['--iters', '3', '--warmup', '0', '--warmup-seconds', '0', '--verify', 'all'];
/** Until the hot code of both ends is compiled; the peers have theirs compiled beforehand. */
const WARM_SECONDS = 2;
const WARM = ['--warmup-seconds', String(WARM_SECONDS), '--verify', 'none'];
/** Timed, as long as iperf3: nothing touches the memory between two transfers, as in the peers. */
const TIMED = ['--seconds', '2', ...WARM];
/** The same for shapes that take turns: iterations, because the time belongs to all of them. */
const IN_TURN = {
  'bench.verify': 'none',
  // More than half a second of each one's own time; by count, so that all begin together.
  'bench.warmup': 60,
  'bench.warmupSeconds': 0,
  'bench.iterations': 40,
  'socket.congestion': CONGESTION,
} as const;
const PORT = 25_201;

const NO_UCX = 'ucx_perftest is not installed';

/** Without the program there is nothing to compare with, and the row says so. */
function lacks(program: 'iperf3' | 'ucx_perftest'): boolean {
  return !isInstalled(program, processEnvironment());
}

async function ownBulk(shape: readonly string[]) {
  const result = await ownBench([...shape, '--congestion', CONGESTION, ...TIMED]);
  const cpu = result.cpuSecondsPerGB;
  return {
    // As the peer reports it: all bytes over all the time.
    bytesPerSecond: result.bandwidthGBps.mean * 1e9,
    cpuSecondsPerGB: cpu.initiator + cpu.target,
  };
}

function iperf(blockBytes: number) {
  const options = { port: PORT, seconds: 2, streams: 1, blockBytes, congestion: CONGESTION };
  return runIperf3(options);
}

const bulk: PerfGroup = {
  name: 'bulk',
  async run(rounds) {
    const hasIperf3 = !lacks('iperf3');
    const hasUcx = !lacks('ucx_perftest');
    const roofs = new MeasuredRoofs();
    const rates: Record<string, number[]> = {};
    const cpu: Record<string, number[]> = {};
    const note = (name: string, rate: number, seconds?: number): void => {
      (rates[name] ??= []).push(rate);
      if (seconds !== undefined) (cpu[name] ??= []).push(seconds);
    };
    const sizeBytes = 64 * 1024 * 1024;
    const writes = [...BULK, '--op', 'write'];
    const reads = [...BULK, '--op', 'read'];
    // A byte that differs makes the benchmark fail, and this run with it.
    for (const shape of [writes, reads]) {
      await ownBench([...shape, '--congestion', CONGESTION, ...CHECKED]);
    }
    for (let set = 0; set < rounds; set++) {
      const write = await ownBulk(writes);
      note('write', write.bytesPerSecond, write.cpuSecondsPerGB);
      const chunked = hasIperf3 ? await iperf(512 * 1024) : undefined;
      if (chunked) note('iperf3 512 KiB', chunked.bytesPerSecond ?? 0, chunked.cpuSecondsPerGB);
      const read = await ownBulk(reads);
      note('read', read.bytesPerSecond, read.cpuSecondsPerGB);
      const plain = hasIperf3 ? await iperf(0) : undefined;
      if (plain) note('iperf3 default', plain.bytesPerSecond ?? 0, plain.cpuSecondsPerGB);
      await roofs.measure(CONGESTION);
      // Far from the bar, and a put of UCX 1.13 takes two seconds: few.
      if (!hasUcx) continue;
      const put = await runUcx({ test: 'ucp_put_bw', port: PORT + 1, sizeBytes, iterations: 4 });
      note('put', put.bytesPerSecond ?? 0);
      const get = await runUcx({ test: 'ucp_get', port: PORT + 2, sizeBytes, iterations: 20 });
      note('get', get.bytesPerSecond ?? 0);
    }
    await roofs.close();
    return [
      ...iperfRows(rates, cpu, hasIperf3),
      ...roofRows(rates, roofs.roofs(true, 1)),
      ...ucxRows(rates, hasUcx),
    ];
  },
};

type Figures = Readonly<Record<string, readonly number[]>>;

const BULK_NAMES = { write: 'WRITE', read: 'READ' } as const;
const BULK_OPERATIONS = ['write', 'read'] as const;

function iperfRows(rates: Figures, cpu: Figures, hasIperf3: boolean): PerfRow[] {
  const both = (figures: Figures) =>
    ['iperf3 512 KiB', 'iperf3 default'].map((name) => figures[name] ?? []);
  return BULK_OPERATIONS.flatMap((op) => {
    const what = `${BULK_NAMES[op]} 64 MiB, 1 channel, vs iperf3`;
    if (!hasIperf3) return [notMeasured(what, 'iperf3 is not installed')];
    const perGB = `CPU per GB, both ends, ${BULK_NAMES[op]} vs iperf3`;
    return [
      atLeastInTurn(what, rates[op] ?? [], both(rates), 1.0, GBPS),
      atMostInTurn(perGB, cpu[op] ?? [], both(cpu), 1.15, CPU_PER_GB),
    ];
  });
}

function roofRows(rates: Figures, roofs: readonly Roof[]): PerfRow[] {
  return BULK_OPERATIONS.flatMap((op) =>
    roofs.map(({ name, figures }) => {
      const what = `${BULK_NAMES[op]} 64 MiB, 1 channel, of ${name}, one core`;
      return shareOf(what, rates[op] ?? [], figures);
    }),
  );
}

function ucxRows(rates: Figures, hasUcx: boolean): PerfRow[] {
  const [put, get] = ['WRITE 64 MiB vs UCX put', 'READ 64 MiB vs UCX get'] as const;
  if (!hasUcx) return [notMeasured(put, NO_UCX), notMeasured(get, NO_UCX)];
  return [
    atLeast(put, rates['write'] ?? [], rates['put'] ?? [], 1.05, GBPS),
    atLeast(get, rates['read'] ?? [], rates['get'] ?? [], 1.5, GBPS),
  ];
}

const latency: PerfGroup = {
  name: 'latency',
  async run(rounds) {
    const own: number[] = [];
    const ucx: number[] = [];
    const lanes: number[] = [];
    const caller: number[] = [];
    const hasUcx = !lacks('ucx_perftest');
    const small = ['--size', '4096', ...WARM];
    for (let set = 0; set < rounds; set++) {
      const long = ['--progress', 'caller', '--iters', '40000'];
      // Of a ping-pong only iterations can be asked for.
      const ping = ['--op', 'pingpong', '--warmup', '40000', ...long];
      own.push((await ownBench([...small, ...ping])).latencyUs.p50);
      const lat = {
        test: 'ucp_put_lat',
        port: PORT + 3,
        sizeBytes: 4096,
        iterations: 40_000,
      } as const;
      if (hasUcx) ucx.push((await runUcx(lat)).halfTripUs ?? Number.NaN);
      lanes.push((await ownBench([...small, '--iters', '3000'])).latencyUs.p50);
      const driven = ['--progress', 'caller', '--iters', '3000'];
      caller.push((await ownBench([...small, ...driven])).latencyUs.p50);
    }
    const ping = '4 KiB ping-pong, caller, vs UCX put';
    return [
      hasUcx ? atMostInTurn(ping, own, [ucx], 0.75, MICROSECONDS) : notMeasured(ping, NO_UCX),
      atMostInTurn('4 KiB WRITE p50, lanes vs caller', lanes, [caller], 1.5, MICROSECONDS),
    ];
  },
};

const blocks: PerfGroup = {
  name: 'blocks',
  async run(rounds) {
    const sizeBytes = 10_000 * 16_384;
    const shape = { ...IN_TURN, 'bench.warmup': 25, 'bench.iterations': 20 };
    const shapes = [
      { ...shape, 'bench.sizeBytes': sizeBytes },
      { ...shape, 'bench.sizeBytes': sizeBytes, 'bench.blockBytes': 16_384 },
      { ...shape, 'bench.sizeBytes': 100_000 * 1024, 'bench.blockBytes': 1024 },
    ];
    const [one = [], many = [], tiny = []] = await ratesInTurn(shapes, rounds);
    const perSecond = tiny.map((rate) => rate / 1024);
    return [
      atLeastInTurn('10,000 × 16 KiB vs one block of 160 MiB', many, [one], 0.85, GBPS),
      atLeastAlone('100,000 × 1 KiB, blocks per second', perSecond, 1e6),
    ];
  },
};

// Cache-warm messages, one at a time on both sides.
const sizes: PerfGroup = {
  name: 'sizes',
  async run(rounds) {
    if (lacks('ucx_perftest')) return [notMeasured('64 KiB and 1 MiB vs UCX', NO_UCX)];
    const rows: PerfRow[] = [];
    for (const [label, sizeBytes, iterations] of [
      ['64 KiB', 64 * 1024, 8000],
      ['1 MiB', 1024 * 1024, 1500],
    ] as const) {
      const own: Record<'write' | 'read', number[]> = { write: [], read: [] };
      const ucx: Record<'write' | 'read', number[]> = { write: [], read: [] };
      const flags = ['--size', String(sizeBytes), ...TIMED, '--progress', 'caller'];
      flags.push('--congestion', CONGESTION);
      for (let round = 0; round < rounds; round++) {
        for (const [op, test] of [
          ['write', 'ucp_put_bw'],
          ['read', 'ucp_get'],
        ] as const) {
          own[op].push((await ownBench([...flags, '--op', op])).bandwidthGBps.mean * 1e9);
          const figure = await runUcx({ test, port: PORT + 5, sizeBytes, iterations });
          ucx[op].push(figure.bytesPerSecond ?? 0);
        }
      }
      rows.push(atLeast(`WRITE ${label}, caller, vs UCX put`, own.write, ucx.write, 1, GBPS));
      rows.push(atLeast(`READ ${label}, caller, vs UCX get`, own.read, ucx.read, 1, GBPS));
    }
    return rows;
  },
};

const links: PerfGroup = {
  name: 'links',
  async run(rounds) {
    const obstacle = netLabObstacle();
    if (obstacle !== undefined) return [notMeasured('striping over links', obstacle)];
    const equal = await stripe([1000, 1000, 1000, 1000], rounds, 2);
    const unequal = await stripe([1000, 1000, 500, 250], rounds, 0);
    const first = equal.alone[0] ?? [];
    const sums = unequal.together.map((_, round) =>
      unequal.alone.reduce((sum, rates) => sum + (rates[round] ?? 0), 0),
    );
    return [
      atLeast('four links of 1 Gbit/s vs one', equal.together, first, 3.8, MBITPS),
      atLeast('the same, 2 MiB', equal.togetherSmall, equal.aloneSmall, 3.2, MBITPS),
      atLeast('links of 1, 1, ½, ¼ Gbit/s vs their sum', unequal.together, sums, 0.95, MBITPS),
    ];
  },
};

async function stripe(ratesMbit: readonly number[], rounds: number, smallMiB: number) {
  const lab = openNetLab(ratesMbit);
  try {
    const alone = ratesMbit.map((): number[] => []);
    const together: number[] = [];
    const aloneSmall: number[] = [];
    const togetherSmall: number[] = [];
    const all = ratesMbit.map((_, index) => index);
    for (let round = 0; round < rounds; round++) {
      for (const index of all) {
        alone[index]?.push(await networkBench(lab, [index], CONGESTION, 96));
      }
      together.push(await networkBench(lab, all, CONGESTION, 384));
      if (smallMiB === 0) continue;
      aloneSmall.push(await networkBench(lab, [0], CONGESTION, smallMiB));
      togetherSmall.push(await networkBench(lab, all, CONGESTION, smallMiB));
    }
    return { alone, together, aloneSmall, togetherSmall };
  } finally {
    lab.close();
  }
}

/** The table of default settings first; then what has peers, and what has flags. */
export const PERF_GROUPS: readonly PerfGroup[] = [
  defaultSmall,
  defaultLarge,
  start,
  bulk,
  channels,
  lanes,
  latency,
  agent,
  local,
  blocks,
  smallRates,
  sizes,
  links,
];
