// `npm run rates`: how many small things an engine with default settings does in a second, against
// a process of its own on this host. Each figure is the median of rounds that take turns.

import { performance } from 'node:perf_hooks';
import { medianOf } from '../src/bench/statistics.js';
import { formatTable } from '../src/cli/print.js';
import type { BlockSpec } from '../src/engine/block-spec.js';
import { Engine } from '../src/engine/engine.js';
import type { Session } from '../src/engine/session.js';
import type { Transfer } from '../src/engine/transfer.js';
import { RatesTarget, TARGET_BYTES } from './rates/target.js';
import { readCount, readWords } from './words.js';

const USAGE = 'npm run rates [-- --rounds N] [--seconds N] [--json]';
const SMALL_BYTES = 4096;
const DEPTH = 64;
const NOTIFY_DEPTH = 256;
const DESCRIPTORS = 100_000;
const DIALS_AT_ONCE = 16;

interface Bench {
  readonly engine: Engine;
  readonly session: Session;
  readonly target: RatesTarget;
  readonly seconds: number;
}

interface Rate {
  readonly what: string;
  readonly unit: string;
  run(bench: Bench): Promise<number>;
}

/** `post` again and again with `depth` in flight; how many were confirmed in a second. */
async function keepInFlight({ seconds }: Bench, depth: number, post: () => Transfer) {
  const flying: Transfer[] = Array.from({ length: depth }, post);
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1000;
  let done = 0;
  for (let turn = 0; performance.now() < endMs; turn++) {
    const place = turn % depth;
    const oldest = flying[place];
    if (oldest === undefined) throw new Error('the ring is full');
    await oldest;
    done++;
    flying[place] = post();
  }
  const tookS = (performance.now() - startedMs) / 1000;
  await Promise.all(flying);
  return { perSecond: done / tookS, posts: done + depth };
}

function smallBlocks({ engine, target }: Bench, count: number): BlockSpec[] {
  const local = engine.register(new Uint8Array(TARGET_BYTES));
  const remote = target.start.region;
  const places = TARGET_BYTES / SMALL_BYTES;
  return Array.from({ length: count }, (_, index) => {
    // Apart in memory: neighbours would be merged into one.
    const offset = ((index * 7) % places) * SMALL_BYTES;
    return { local, localOffset: offset, remote, remoteOffset: offset, bytes: SMALL_BYTES };
  });
}

const RATES: readonly Rate[] = [
  {
    what: `WRITE 4 KiB, ${DEPTH} in flight, posted again`,
    unit: 'transfers/s',
    async run(bench) {
      const blocks = smallBlocks(bench, DEPTH);
      const requests = blocks.map((block) => bench.session.prepare('write', [block]));
      let turn = 0;
      const post = (): Transfer => {
        const request = requests[turn++ % DEPTH];
        if (request === undefined) throw new Error('a request for each place');
        return request.post();
      };
      const { perSecond } = await keepInFlight(bench, DEPTH, post);
      for (const request of requests) request.release();
      return perSecond;
    },
  },
  {
    what: `WRITE 4 KiB, ${DEPTH} in flight, each prepared`,
    unit: 'transfers/s',
    async run(bench) {
      const [block] = smallBlocks(bench, 1);
      if (block === undefined) throw new Error('one was asked for');
      const post = (): Transfer => bench.session.write([block]);
      return (await keepInFlight(bench, DEPTH, post)).perSecond;
    },
  },
  {
    what: `notifications of 16 bytes, ${NOTIFY_DEPTH} in flight`,
    unit: 'read there/s',
    async run(bench) {
      const message = new Uint8Array(16).fill(7);
      const startedMs = performance.now();
      const post = (): Transfer => bench.session.notify(message);
      const { posts } = await keepInFlight(bench, NOTIFY_DEPTH, post);
      await bench.target.counted(posts);
      return posts / ((performance.now() - startedMs) / 1000);
    },
  },
  {
    what: `sessions opened and closed, ${DIALS_AT_ONCE} at once`,
    unit: 'sessions/s',
    async run({ engine, target, seconds }) {
      const startedMs = performance.now();
      const endMs = startedMs + seconds * 1000;
      let opened = 0;
      const dial = async (): Promise<void> => {
        while (performance.now() < endMs) {
          const session = await engine.connect('127.0.0.1', target.start.port);
          await session.close();
          opened++;
        }
      };
      await Promise.all(Array.from({ length: DIALS_AT_ONCE }, dial));
      return opened / ((performance.now() - startedMs) / 1000);
    },
  },
  {
    what: `descriptors prepared, ${DESCRIPTORS.toLocaleString('en')} in a request`,
    unit: 'descriptors/s',
    async run(bench) {
      const blocks = smallBlocks(bench, DESCRIPTORS);
      const startedMs = performance.now();
      const request = bench.session.prepare('write', blocks);
      const tookS = (performance.now() - startedMs) / 1000;
      await request.post();
      request.release();
      return DESCRIPTORS / tookS;
    },
  },
];

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = readWords(USAGE, {
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      json: { type: 'boolean', default: false },
    },
  });
  const rounds = readCount('--rounds', values.rounds);
  const seconds = readCount('--seconds', values.seconds);
  const figures = new Map<Rate, number[]>(RATES.map((rate) => [rate, []]));
  const target = await RatesTarget.open();
  const engine = await Engine.open({ settings: { 'session.local': 'tcp' } });
  const session = await engine.connect('127.0.0.1', target.start.port);
  const bench = { engine, session, target, seconds };
  // The first round warms up: hot code of both ends is compiled then.
  for (let round = 0; round <= rounds; round++) {
    for (const [rate, samples] of figures) {
      const figure = await rate.run(bench);
      if (round > 0) samples.push(figure);
    }
  }
  await session.close();
  await engine.close();
  target.close();
  print(figures, values.json);
  return 0;
}

function print(figures: ReadonlyMap<Rate, readonly number[]>, isJson: boolean): void {
  const rows = Array.from(figures, ([{ what, unit }, samples]) => ({
    what,
    unit,
    median: medianOf(samples),
    min: Math.min(...samples),
    max: Math.max(...samples),
  }));
  if (isJson) {
    process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
    return;
  }
  const text = (value: number): string => Math.round(value).toLocaleString('en');
  const table = rows.map(({ what, unit, median, min, max }) => [
    what,
    `${text(median)} ${unit}`,
    `${text(min)} … ${text(max)}`,
  ]);
  process.stdout.write(formatTable([['what', 'median', 'min … max'], ...table]));
}
