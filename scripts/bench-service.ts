// `npm run bench:service`: what a transfer costs through the node service, beside the engine in a
// process of its own: one run of each in turn, so that a ratio does not hang on whose seconds were
// the better ones. Two services in two network namespaces, and two clients of one service; where
// namespaces cannot be had (they need root), two services that are told to use TCP over loopback.
// Figures of a machine that has other work are of no use.

import { availableParallelism, loadavg } from 'node:os';
import { assert, at } from '../src/base/assert.js';
import { environmentName, SETTING_NAMES } from '../src/base/settings.js';
import { formatBytes } from '../src/base/units.js';
import { medianOf } from '../src/bench/statistics.js';
import {
  addMemory,
  type End,
  load,
  type RunningService,
  ServiceWorld,
} from '../test/service/service-world.js';
import { type NetLab, netLabObstacle, openNetLab } from '../test/support/net-lab.js';
import { benchAcross } from './perf/network-bench.js';
import { ownBench } from './perf/own-bench.js';
import { processRateGBps } from './perf/process-rate.js';
import { readCount, readWords, refuse } from './words.js';

const USAGE = `npm run bench:service [-- --rounds N] [--only polled|posted] [--mtu N]
                            [--set NAME=VALUE]…
  64 MiB WRITE and 4 KiB post to done through services, as ratios to tcpx bench loopback, and to the
  engine between the same namespaces; how fast the kernel copies a program's memory; posts of 4 KiB
  to 64 MiB of ordinary memory where both programs poll, as those of NIXL do (--only polled: these
  alone; posted: the others). --mtu: of the link between the namespaces; by default the most that
  it can have, which is what loopback has but for one byte. --set: a setting of the services, such
  as lane.own=off`;
const LARGE = 64 * 1024 * 1024;
const LARGE_POSTS = 30;
/** Until the hot code of both ends, of every lane's thread, is compiled. */
const WARM_POSTS = 300;
const SMALL = 4096;
const SMALL_POSTS = 2000;
const POLLED_BYTES = [SMALL, 64 * 1024, 1024 * 1024, 8 * 1024 * 1024, LARGE];
const POLLED_POSTS = 4000;
/** Of large ones fewer, but never so few that a pause decides. */
const POLLED_TOTAL_BYTES = 1024 * 1024 * 1024;
const POLLED_POSTS_MIN = 16;
/** Longer than any of them; a notification ends it. */
const STARE_MS = 600_000;
const BUSY_LOAD = 0.5;
/** Of a veth; loopback has 65,536, and what is compared shall differ in the services alone. */
const MTU_MAX = 65_535;
const ACROSS = 'engine, between the namespaces,';

/** Takes a figure of itself: GB/s for large transfers, µs of a post for small. */
interface Row {
  readonly name: string;
  /** Of the engine alone, which this one is compared with. */
  readonly bases?: readonly string[];
  readonly unit: 'GB/s' | 'µs';
  take(): Promise<number>;
}

function engineRows(lab: NetLab | undefined): Row[] {
  // As long as it takes until hot code is compiled: the services have been warmed by a round.
  const flags = ['--verify', 'none', '--warmup-seconds', '1'];
  const large = ['--size', '64MiB', '--iters', `${LARGE_POSTS}`];
  const small = ['--size', '4KiB', '--iters', `${SMALL_POSTS}`];
  const across = lab === undefined ? [] : [acrossRow(lab, [...flags, ...large])];
  return [
    ...across,
    {
      name: 'engine 64 MiB',
      unit: 'GB/s',
      take: async () => (await ownBench([...flags, ...large])).bandwidthGBps.p50,
    },
    {
      name: 'engine 4 KiB',
      unit: 'µs',
      take: async () => (await ownBench([...flags, ...small])).latencyUs.p50,
    },
  ];
}

/** What the link between the namespaces, which services in them have in their way, leaves of it. */
function acrossRow(lab: NetLab, flags: readonly string[]): Row {
  const take = async (): Promise<number> =>
    (await benchAcross(lab, at(lab.links, 0), [], flags)).bandwidthGBps.p50;
  return { name: `${ACROSS} 64 MiB`, unit: 'GB/s', take };
}

/** How fast the kernel copies memory of a client, which copied memory pays at both ends. */
async function copyRows(end: End): Promise<Row[]> {
  const memory = await addMemory(end, LARGE, 'malloc');
  await end.program.do(`fill ${memory.id} 1`);
  const addr = Number(await end.program.do(`where ${memory.id}`));
  const range = { pid: end.program.child.pid ?? 0, addr, bytes: LARGE };
  return (['read', 'write'] as const).map((direction) => ({
    name: `process_vm_${direction}v 64 MiB`,
    unit: 'GB/s',
    take: () => {
      const passes = Array.from({ length: LARGE_POSTS }, () => processRateGBps(range, direction));
      return Promise.resolve(medianOf(passes));
    },
  }));
}

/** As programs do that have a core to themselves: neither end ever sleeps. */
async function polledRows(where: string, from: End, to: End): Promise<Row[]> {
  const here = await addMemory(from, LARGE, 'malloc');
  const there = await addMemory(to, LARGE, 'malloc');
  const { peer, region } = await load(from, to, there);
  const rows: Row[] = [];
  for (const [verb, operation] of [
    ['prepare', 'WRITE'],
    ['prepare-read', 'READ'],
  ] as const) {
    for (const bytes of POLLED_BYTES) {
      const request = await from.program.do(`${verb} ${peer} ${here.id} ${region} ${bytes}`);
      const fitting = Math.floor(POLLED_TOTAL_BYTES / bytes);
      const posts = Math.max(POLLED_POSTS_MIN, Math.min(POLLED_POSTS, fitting));
      rows.push({
        name: `${where}, both poll, ${operation} ${formatBytes(bytes)}`,
        unit: 'GB/s',
        take: async () => {
          const staring = to.program.do(`stare ${STARE_MS}`);
          const said = await from.program.do(`repeat ${request} ${posts} poll`);
          await from.program.do(`notify ${peer} over`);
          await staring;
          // The mean: a lost time slice is what it is about.
          return (bytes * posts) / at(said.split(' ').map(Number), 2) / 1000;
        },
      });
    }
  }
  return rows;
}

/** Shared and copied memory between two clients, large and small. */
async function serviceRows(
  where: string,
  from: End,
  to: End,
  engines: readonly string[],
): Promise<Row[]> {
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
    const medianUs = async (request: string, count: number): Promise<number> => {
      const said = await from.program.do(`repeat ${request} ${count}`);
      return at(said.split(' ').map(Number), 0);
    };
    await medianUs(large, WARM_POSTS);
    rows.push({
      name: `${where}, ${way} 64 MiB`,
      bases: engines.map((engine) => `${engine} 64 MiB`),
      unit: 'GB/s',
      take: async () => LARGE / (await medianUs(large, LARGE_POSTS)) / 1000,
    });
    rows.push({
      name: `${where}, ${way} 4 KiB`,
      bases: ['engine 4 KiB'],
      unit: 'µs',
      take: () => medianUs(small, SMALL_POSTS),
    });
  }
  return rows;
}

function settingVariables(words: readonly string[]): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const word of words) {
    const end = word.indexOf('=');
    const setting = SETTING_NAMES.find((name) => name === word.slice(0, end));
    if (setting === undefined) refuse(`--set ${word}: SETTING=VALUE`);
    variables[environmentName(setting)] = word.slice(end + 1);
  }
  return variables;
}

function rounded(figure: number): string {
  return Number(figure.toPrecision(3)).toString();
}

async function measure(rows: readonly Row[], rounds: number): Promise<void> {
  const taken = new Map(rows.map(({ name }) => [name, [] as number[]]));
  // The first round warms up: hot code of all processes is compiled then.
  for (let round = 0; round <= rounds; round++) {
    for (const row of rows) {
      const figure = await row.take();
      assert(Number.isFinite(figure), `${row.name} has a figure`);
      if (round > 0) taken.get(row.name)?.push(figure);
    }
  }
  for (const { name, bases = [], unit } of rows) {
    const all = taken.get(name) ?? [];
    const figure = medianOf(all);
    const spread = `(${rounded(Math.min(...all))}–${rounded(Math.max(...all))})`;
    const ratios = bases.map(
      (base) => `  ${(figure / medianOf(taken.get(base) ?? [])).toFixed(2)} × ${base}`,
    );
    process.stdout.write(`${name}: ${rounded(figure)} ${spread} ${unit}${ratios.join('')}\n`);
  }
}

async function main(): Promise<void> {
  const options = {
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    mtu: { type: 'string', default: `${MTU_MAX}` },
    set: { type: 'string', multiple: true },
  } as const;
  const { values } = readWords(USAGE, { options });
  const rounds = readCount('--rounds', values.rounds);
  if (!['polled', 'posted', undefined].includes(values.only)) {
    refuse(`--only ${values.only}: polled or posted is wanted`);
  }
  const obstacle = netLabObstacle();
  const mtu = readCount('--mtu', values.mtu);
  const where =
    obstacle === undefined ? `in two namespaces, MTU ${mtu}` : `over loopback (${obstacle})`;
  process.stdout.write(`${availableParallelism()} CPUs, services ${where}\n`);
  const [load1 = 0] = loadavg();
  if (load1 > BUSY_LOAD) {
    process.stdout.write(
      `load ${load1.toFixed(1)}: other work runs here; figures are indicative\n`,
    );
  }
  const lab = obstacle === undefined ? openNetLab([0], mtu) : undefined;
  const world = new ServiceWorld();
  try {
    const local = lab === undefined ? { NIXL_TCPX_SESSION_LOCAL: 'tcp' } : undefined;
    const set = settingVariables(values.set ?? []);
    const env = {
      NIXL_TCPX_TRUST_SECRET: 'a secret for two services',
      NIXL_TCPX_LANE_OWN: 'auto',
      ...local,
      ...set,
    };
    const start = (end: 'left' | 'right'): Promise<RunningService> =>
      world.service({ env, inside: (words) => lab?.inside(end, words) ?? words });
    const [left, right] = await Promise.all([start('left'), start('right')]);
    const [a, b, c] = [
      await world.end(left, 'alice'),
      await world.end(right, 'bob'),
      await world.end(left, 'carol'),
    ];
    const posted = async (): Promise<Row[]> => [
      ...engineRows(lab),
      ...(await copyRows(a)),
      ...(await serviceRows(
        'two services',
        a,
        b,
        lab === undefined ? ['engine'] : [ACROSS, 'engine'],
      )),
      ...(await serviceRows('one service', a, c, ['engine'])),
    ];
    const polled = async (): Promise<Row[]> => [
      ...(await polledRows('two services', a, b)),
      ...(await polledRows('one service', a, c)),
    ];
    const rows = values.only === 'polled' ? [] : await posted();
    if (values.only !== 'posted') rows.push(...(await polled()));
    await measure(rows, rounds);
  } finally {
    await world.close();
    lab?.close();
  }
}

await main();
