// Small things that an engine with default settings does in a second, against a process of its own
// on this host: for `npm run rates`, and for the rows of `npm run perf` with bars.

import { performance } from 'node:perf_hooks';
import type { BlockSpec } from '../../src/engine/block-spec.js';
import { Engine } from '../../src/engine/engine.js';
import type { Session } from '../../src/engine/session.js';
import type { Transfer } from '../../src/engine/transfer.js';
import type { Region } from '../../src/memory/region.js';
import { RatesTarget, TARGET_BYTES } from './target.js';

export const SMALL_BYTES = 4096;
export const DEPTH = 64;
const NOTIFY_DEPTH = 256;
const DESCRIPTORS = 100_000;
const DIALS_AT_ONCE = 16;

export type RateName = 'polled' | 'awaited' | 'prepared' | 'notified' | 'opened' | 'described';

interface Bench {
  readonly engine: Engine;
  readonly session: Session;
  readonly target: RatesTarget;
  readonly seconds: number;
  /** Sent from. */
  readonly local: Region;
}

export interface Rate {
  readonly name: RateName;
  readonly what: string;
  readonly unit: string;
  run(bench: Bench): Promise<number>;
}

/**
 * `post` again and again with `depth` in flight; how many were confirmed in a second. `isPolled`:
 * asked for without a pause.
 */
async function keepInFlight(
  { seconds }: Bench,
  depth: number,
  post: () => Transfer,
  isPolled: boolean,
) {
  const flying: Transfer[] = Array.from({ length: depth }, post);
  const startedMs = performance.now();
  const endMs = startedMs + seconds * 1000;
  let done = 0;
  for (let turn = 0; performance.now() < endMs; turn++) {
    const place = turn % depth;
    const oldest = flying[place];
    if (oldest === undefined) throw new Error('the ring is full');
    if (isPolled) while (oldest.poll() === 'active') continue;
    else await oldest;
    done++;
    flying[place] = post();
  }
  const tookS = (performance.now() - startedMs) / 1000;
  await Promise.all(flying);
  return { perSecond: done / tookS, posts: done + depth };
}

async function postAgain(bench: Bench, isPolled: boolean): Promise<number> {
  const blocks = smallBlocks(bench, DEPTH);
  const requests = blocks.map((block) => bench.session.prepare('write', [block]));
  let turn = 0;
  const post = (): Transfer => {
    const request = requests[turn++ % DEPTH];
    if (request === undefined) throw new Error('a request for each place');
    return request.post();
  };
  const { perSecond } = await keepInFlight(bench, DEPTH, post, isPolled);
  for (const request of requests) request.release();
  return perSecond;
}

function smallBlocks({ local, target }: Bench, count: number): BlockSpec[] {
  const remote = target.start.region;
  const places = TARGET_BYTES / SMALL_BYTES;
  return Array.from({ length: count }, (_, index) => {
    // Apart in memory: neighbours would be merged into one.
    const offset = ((index * 7) % places) * SMALL_BYTES;
    return { local, localOffset: offset, remote, remoteOffset: offset, bytes: SMALL_BYTES };
  });
}

export const RATES: readonly Rate[] = [
  {
    name: 'polled',
    what: `WRITE 4 KiB, ${DEPTH} in flight, posted again, polled`,
    unit: 'transfers/s',
    run: (bench) => postAgain(bench, true),
  },
  {
    name: 'awaited',
    what: `WRITE 4 KiB, ${DEPTH} in flight, posted again`,
    unit: 'transfers/s',
    run: (bench) => postAgain(bench, false),
  },
  {
    name: 'prepared',
    what: `WRITE 4 KiB, ${DEPTH} in flight, each prepared`,
    unit: 'transfers/s',
    async run(bench) {
      const [block] = smallBlocks(bench, 1);
      if (block === undefined) throw new Error('one was asked for');
      const post = (): Transfer => bench.session.write([block]);
      return (await keepInFlight(bench, DEPTH, post, false)).perSecond;
    },
  },
  {
    name: 'notified',
    what: `notifications of 16 bytes, ${NOTIFY_DEPTH} in flight, polled`,
    unit: 'read there/s',
    async run(bench) {
      const message = new Uint8Array(16).fill(7);
      const startedMs = performance.now();
      const post = (): Transfer => bench.session.notify(message);
      const { posts } = await keepInFlight(bench, NOTIFY_DEPTH, post, true);
      await bench.target.counted(posts);
      return posts / ((performance.now() - startedMs) / 1000);
    },
  },
  {
    name: 'opened',
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
    name: 'described',
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

/** The engine that is measured, and its target. */
export class RatesBench implements Bench {
  readonly engine: Engine;
  readonly session: Session;
  readonly target: RatesTarget;
  readonly seconds: number;
  readonly local: Region;

  private constructor(engine: Engine, session: Session, target: RatesTarget, seconds: number) {
    this.engine = engine;
    this.session = session;
    this.target = target;
    this.seconds = seconds;
    this.local = engine.register(new Uint8Array(TARGET_BYTES));
  }

  static async open(seconds: number): Promise<RatesBench> {
    const target = await RatesTarget.open();
    const engine = await Engine.open({ settings: { 'session.local': 'tcp' } });
    const session = await engine.connect('127.0.0.1', target.start.port);
    return new RatesBench(engine, session, target, seconds);
  }

  async close(): Promise<void> {
    await this.session.close();
    await this.engine.close();
    this.target.close();
  }
}
