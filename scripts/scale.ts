// `npm run scale -- [COUNT…]`: one engine with so many sessions to another process, default
// settings but one channel each: what a session costs in time, memory and descriptors, at the end
// that opens it and at the end that accepts it, and how evenly the sessions are served.

import { readdirSync, readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { formatTable } from '../src/cli/print.js';
import { Engine } from '../src/engine/engine.js';
import type { Session } from '../src/engine/session.js';
import type { Transfer } from '../src/engine/transfer.js';
import { RatesTarget } from './rates/target.js';
import { readCount, readWords } from './words.js';

const USAGE = 'npm run scale [-- SESSIONS…]';
const DEFAULT_COUNTS = [10, 100, 1000];
const DIALS_AT_ONCE = 16;
const ROUNDS = 5;
const WRITE_BYTES = 4096;
const SETTINGS = {
  'flow.channels': 1,
  'lane.count': 1,
  'session.peersMax': 16_384,
  'memory.readsBytes': 8 * 1024 ** 3,
  'memory.transfersMax': 16_384,
} as const;

/** What the kernel counts of a process, and of all sockets of this host. */
interface Footprint {
  readonly residentKiB: number;
  readonly descriptors: number;
}

function footprint(pid: number): Footprint {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const residentKiB = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN);
  return { residentKiB, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

async function dialAll(engine: Engine, port: number, count: number): Promise<Session[]> {
  const sessions: Session[] = [];
  let begun = 0;
  const dial = async (): Promise<void> => {
    while (begun < count) {
      begun++;
      sessions.push(await engine.connect('127.0.0.1', port));
    }
  };
  await Promise.all(Array.from({ length: DIALS_AT_ONCE }, dial));
  return sessions;
}

/** Every session writes at once, some rounds; Jain's index over the times of the last round. */
async function writeRounds(engine: Engine, sessions: readonly Session[], target: RatesTarget) {
  const local = engine.register(new Uint8Array(WRITE_BYTES));
  const remote = target.start.region;
  const block = { local, localOffset: 0, remote, remoteOffset: 0, bytes: WRITE_BYTES };
  const requests = sessions.map((session) => session.prepare('write', [block]));
  const startedMs = performance.now();
  let tookMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const roundMs = performance.now();
    const since = async (transfer: Transfer): Promise<number> => {
      await transfer;
      return performance.now() - roundMs;
    };
    tookMs = await Promise.all(requests.map((request) => since(request.post())));
  }
  const perSecond = (ROUNDS * sessions.length * 1000) / (performance.now() - startedMs);
  for (const request of requests) request.release();
  const sum = tookMs.reduce((total, ms) => total + ms, 0);
  const squares = tookMs.reduce((total, ms) => total + ms * ms, 0);
  return { perSecond, fairness: sum ** 2 / (tookMs.length * squares) };
}

async function measure(count: number): Promise<string[]> {
  const target = await RatesTarget.open(SETTINGS);
  const engine = await Engine.open({ settings: SETTINGS });
  const ends = (): Footprint[] => [process.pid, target.pid].map(footprint);
  // The first session brings what every engine has once.
  await dialAll(engine, target.start.port, 1);
  const before = ends();
  const startedMs = performance.now();
  const sessions = await dialAll(engine, target.start.port, count);
  const perSecond = (count * 1000) / (performance.now() - startedMs);
  const after = ends();
  const each = (key: keyof Footprint): string =>
    after
      .map((end, index) => ((end[key] - (before[index]?.[key] ?? Number.NaN)) / count).toFixed(1))
      .join(' / ');
  const writes = await writeRounds(engine, sessions, target);
  const closeMs = performance.now();
  await engine.close();
  const closed = performance.now() - closeMs;
  target.close();
  const whole = (value: number): string => Math.round(value).toLocaleString('en');
  return [
    whole(count),
    whole(perSecond),
    each('residentKiB'),
    each('descriptors'),
    whole(writes.perSecond),
    writes.fairness.toFixed(3),
    `${whole(closed)} ms`,
  ];
}

const { positionals } = readWords(USAGE, { allowPositionals: true, options: {} });
const counts = positionals.map((text) => readCount('sessions', text));
const head = [
  'sessions',
  'opened/s',
  'KiB each, opening / accepting end',
  'descriptors each',
  'writes of 4 KiB/s, all at once',
  'fairness (Jain)',
  'close of all',
];
const rows: string[][] = [];
for (const count of counts.length > 0 ? counts : DEFAULT_COUNTS) rows.push(await measure(count));
process.stdout.write(formatTable([head, ...rows]));
