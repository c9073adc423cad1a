// The rows of the performance table that need no GPU. Every row interleaves its contenders, round
// by round, so that noise of the machine falls on all of them.

import { runIperf3 } from '../../src/bench/peers/iperf3.js';
import { runUcx } from '../../src/bench/peers/ucx.js';
import { medianOf } from '../../src/bench/statistics.js';
import { netLabObstacle, openNetLab } from '../../test/support/net-lab.js';
import { defaults } from './default-rows.js';
import { benchInTurn, checkShape } from './in-turn.js';
import { networkBench } from './network-bench.js';
import { ownBench } from './own-bench.js';
import { atLeast, atLeastInTurn, atMostInTurn, type PerfRow } from './verdict.js';

export interface PerfGroup {
  readonly name: string;
  run(rounds: number): Promise<PerfRow[]>;
}

const GBPS = { name: 'GB/s', scale: 1e9 };
const MICROSECONDS = { name: 'µs', scale: 1 };
const CPU = { name: 's/GB', scale: 1 };
const MBITPS = { name: 'Mbit/s', scale: 1e6 / 8 };
const CONGESTION = 'cubic';
const BULK = ['--size', '64MiB'];
/** Once for each shape: every byte is checked. */
const CHECKED = ['--iters', '3', '--warmup', '0', '--warmup-seconds', '0', '--verify', 'all'];
/** Until the hot code of both ends is compiled; the peers have theirs compiled beforehand. */
const WARM_SECONDS = 3;
const WARM = ['--warmup-seconds', String(WARM_SECONDS), '--verify', 'none'];
/** Timed, as long as iperf3: nothing touches the memory between two transfers, as in the peers. */
const TIMED = ['--seconds', '2', ...WARM];
/** The same for shapes that take turns: iterations, because the time belongs to all of them. */
const IN_TURN = {
  'bench.verify': 'none',
  // About two seconds of each one's own time; by count, so that all begin to measure together.
  'bench.warmup': 180,
  'bench.warmupSeconds': 0,
  'bench.iterations': 80,
  'socket.congestion': CONGESTION,
} as const;
/** Connections and places of threads differ by chance, so a round has several sets of them. */
export const SETS_PER_ROUND = 3;
const PORT = 25_201;

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
    for (let set = 0; set < rounds * SETS_PER_ROUND; set++) {
      const write = await ownBulk(writes);
      note('write', write.bytesPerSecond, write.cpuSecondsPerGB);
      const chunked = await iperf(512 * 1024);
      note('iperf3 512 KiB', chunked.bytesPerSecond ?? 0, chunked.cpuSecondsPerGB);
      const read = await ownBulk(reads);
      note('read', read.bytesPerSecond, read.cpuSecondsPerGB);
      const plain = await iperf(0);
      note('iperf3 default', plain.bytesPerSecond ?? 0, plain.cpuSecondsPerGB);
      // Far from the bar, and a put of UCX 1.13 takes two seconds: once a round, and few.
      if (set % SETS_PER_ROUND > 0) continue;
      const put = await runUcx({ test: 'ucp_put_bw', port: PORT + 1, sizeBytes, iterations: 4 });
      note('put', put.bytesPerSecond ?? 0);
      const get = await runUcx({ test: 'ucp_get', port: PORT + 2, sizeBytes, iterations: 20 });
      note('get', get.bytesPerSecond ?? 0);
    }
    const of = (name: string): number[] => rates[name] ?? [];
    const iperfs = [of('iperf3 512 KiB'), of('iperf3 default')];
    const iperfCpu = [cpu['iperf3 512 KiB'] ?? [], cpu['iperf3 default'] ?? []];
    const perGB = 'CPU per GB, both ends,';
    return [
      atLeastInTurn('WRITE 64 MiB, 1 channel, vs iperf3', of('write'), iperfs, 1.0, GBPS),
      atLeastInTurn('READ 64 MiB, 1 channel, vs iperf3', of('read'), iperfs, 1.0, GBPS),
      atLeast('WRITE 64 MiB vs UCX put', of('write'), of('put'), 1.05, GBPS),
      atLeast('READ 64 MiB vs UCX get', of('read'), of('get'), 1.5, GBPS),
      atMostInTurn(`${perGB} WRITE vs iperf3`, cpu['write'] ?? [], iperfCpu, 1.15, CPU),
      atMostInTurn(`${perGB} READ vs iperf3`, cpu['read'] ?? [], iperfCpu, 1.15, CPU),
    ];
  },
};

const channels: PerfGroup = {
  name: 'channels',
  async run(rounds) {
    const counts = [1, 2, 4, 8];
    const shape = { ...IN_TURN, 'bench.sizeBytes': 64 * 1024 * 1024 };
    const shapes = counts.map((count) => ({ ...shape, 'flow.channels': count }));
    const rates = await ratesInTurn(shapes, rounds);
    return counts.slice(1).map((count, index) => {
      const what = `${count} channels vs the best smaller count`;
      return atLeastInTurn(what, rates[index + 1] ?? [], rates.slice(0, index + 1), 0.95, GBPS);
    });
  },
};

async function ratesInTurn(
  shapes: Parameters<typeof benchInTurn>[0],
  rounds: number,
): Promise<number[][]> {
  for (const shape of shapes) await checkShape(shape);
  const rates = shapes.map((): number[] => []);
  for (let set = 0; set < rounds * SETS_PER_ROUND; set++) {
    for (const [index, rate] of (await benchInTurn(shapes)).entries()) rates[index]?.push(rate);
  }
  return rates;
}

const latency: PerfGroup = {
  name: 'latency',
  async run(rounds) {
    const own: number[] = [];
    const ucx: number[] = [];
    const lanes: number[] = [];
    const caller: number[] = [];
    const small = ['--size', '4096', ...WARM];
    for (let set = 0; set < rounds * SETS_PER_ROUND; set++) {
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
      ucx.push((await runUcx(lat)).halfTripUs ?? Number.NaN);
      lanes.push((await ownBench([...small, '--iters', '3000'])).latencyUs.p50);
      const driven = ['--progress', 'caller', '--iters', '3000'];
      caller.push((await ownBench([...small, ...driven])).latencyUs.p50);
    }
    return [
      atMostInTurn('4 KiB ping-pong, caller, vs UCX put', own, [ucx], 0.8, MICROSECONDS),
      atMostInTurn('4 KiB WRITE p50, lanes vs caller', lanes, [caller], 3, MICROSECONDS),
    ];
  },
};

const blocks: PerfGroup = {
  name: 'blocks',
  async run(rounds) {
    const sizeBytes = 10_000 * 16_384;
    const shape = { ...IN_TURN, 'bench.warmup': 70, 'bench.iterations': 40 };
    const shapes = [
      { ...shape, 'bench.sizeBytes': sizeBytes },
      { ...shape, 'bench.sizeBytes': sizeBytes, 'bench.blockBytes': 16_384 },
      { ...shape, 'bench.sizeBytes': 100_000 * 1024, 'bench.blockBytes': 1024 },
    ];
    const [one = [], many = [], tiny = []] = await ratesInTurn(shapes, rounds);
    const perSecond = tiny.map((rate) => rate / 1024);
    const median = medianOf(perSecond);
    return [
      atLeastInTurn('10,000 × 16 KiB vs one block of 160 MiB', many, [one], 0.85, GBPS),
      {
        what: '100,000 × 1 KiB, blocks per second',
        bar: '≥ 1,000,000',
        measured: Math.round(median).toLocaleString('en-US'),
        detail: `${Math.round(Math.min(...perSecond))} … ${Math.round(Math.max(...perSecond))}`,
        isMet: median >= 1e6,
      },
    ];
  },
};

// Cache-warm messages, one at a time on both sides.
const sizes: PerfGroup = {
  name: 'sizes',
  async run(rounds) {
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
    if (obstacle !== undefined) throw new Error(obstacle);
    const equal = await stripe([1000, 1000, 1000, 1000], rounds);
    const unequal = await stripe([1000, 1000, 500, 250], rounds);
    const first = equal.alone[0] ?? [];
    const sums = unequal.together.map((_, round) =>
      unequal.alone.reduce((sum, rates) => sum + (rates[round] ?? 0), 0),
    );
    return [
      atLeast('four links of 1 Gbit/s vs one', equal.together, first, 3.8, MBITPS),
      atLeast('links of 1, 1, ½, ¼ Gbit/s vs their sum', unequal.together, sums, 0.95, MBITPS),
    ];
  },
};

async function stripe(ratesMbit: readonly number[], rounds: number) {
  const lab = openNetLab(ratesMbit);
  try {
    const alone = ratesMbit.map((): number[] => []);
    const together: number[] = [];
    const all = ratesMbit.map((_, index) => index);
    for (let round = 0; round < rounds; round++) {
      for (const index of all) {
        alone[index]?.push(await networkBench(lab, [index], CONGESTION, 96));
      }
      together.push(await networkBench(lab, all, CONGESTION, 384));
    }
    return { alone, together };
  } finally {
    lab.close();
  }
}

export const PERF_GROUPS: readonly PerfGroup[] = [
  defaults,
  bulk,
  channels,
  latency,
  blocks,
  sizes,
  links,
];
