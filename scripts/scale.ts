// `npm run scale -- [COUNT…]`: one engine with so many sessions to another process, default
// settings but one channel each (`--channels N`): what a session costs in time, memory and
// descriptors, at the end that opens it and at the end that accepts it, and how evenly the sessions
// are served.
// `npm run scale -- 1000x10`: so many senders with so many sessions each to one engine, simulated:
// how evenly they are served, where this machine has no room for them.

import { readdirSync, readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { formatTable } from '../src/cli/print.js';
import { Engine } from '../src/engine/engine.js';
import type { Session } from '../src/engine/session.js';
import type { Transfer } from '../src/engine/transfer.js';
import { type CrowdFigures, runCrowd } from '../test/support/sim/sim-crowd.js';
import { RatesTarget } from './rates/target.js';
import { readCount, readWords } from './words.js';

const USAGE = 'npm run scale [-- [--channels N] SESSIONS… | SENDERSxSESSIONS…]';
const DEFAULT_COUNTS = [10, 100, 1000];
const DIALS_AT_ONCE = 16;
const ROUNDS = 5;
const WRITE_BYTES = 4096;
const { positionals, values } = readWords(USAGE, {
  allowPositionals: true,
  options: { channels: { type: 'string', default: '1' } },
});
const SETTINGS = {
  'flow.channels': readCount('--channels', values.channels),
  'lane.count': 1,
  // As peers on other hosts: shared memory has a bound of its own.
  'session.local': 'tcp',
  'session.peersMax': 16_384,
  'memory.readsBytes': 8 * 1024 ** 3,
  'memory.transfersMax': 16_384,
  // What is measured is what thousands cost, not whether a busy machine is in time for each.
  'session.handshakeTimeoutMs': 60_000,
  'session.connectTimeoutMs': 120_000,
} as const;

const SIMULATED_WRITES = 4;
const SIMULATED_BYTES = 8192;
const MEASURED_HEAD = [
  'sessions',
  'opened/s',
  'channels attached/s',
  'KiB each, opening / accepting end',
  'descriptors each',
  'writes of 4 KiB/s, all at once',
  'fairness (Jain)',
  'close of all',
];
/** Times are of the virtual clock: turns of machines, not of a processor. */
const SIMULATED_HEAD = [
  'simulated',
  'refused, tried again',
  'virtual time to open all',
  'to write all',
  'fairness (Jain)',
  'least of the mean',
];

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
    whole(perSecond * SETTINGS['flow.channels']),
    each('residentKiB'),
    each('descriptors'),
    whole(writes.perSecond),
    writes.fairness.toFixed(3),
    `${whole(closed)} ms`,
  ];
}

async function simulate(word: string): Promise<string[]> {
  const [senders = '', each = ''] = word.split('x');
  const figures: CrowdFigures = await runCrowd({
    seed: 1,
    senders: readCount('senders', senders),
    sessionsEach: readCount('sessions', each),
    writes: SIMULATED_WRITES,
    writeBytes: SIMULATED_BYTES,
  });
  const { openedMs, writtenMs, fairness, least, refusals } = figures;
  return [
    `${senders} × ${each}`,
    String(refusals),
    `${openedMs.toFixed(1)} ms`,
    `${writtenMs.toFixed(1)} ms`,
    fairness.toFixed(3),
    least.toFixed(2),
  ];
}

/** Each row also when it is there: the next may take minutes. */
async function tell<T>(
  head: readonly string[],
  cases: readonly T[],
  row: (one: T) => Promise<string[]>,
): Promise<void> {
  const rows: string[][] = [];
  for (const one of cases) {
    const cells = await row(one);
    process.stderr.write(`${cells.join('; ')}\n`);
    rows.push(cells);
  }
  if (rows.length > 0) process.stdout.write(formatTable([head, ...rows]));
}

const crowds = positionals.filter((word) => word.includes('x'));
const named = positionals.filter((word) => !word.includes('x'));
const counts =
  positionals.length === 0 ? DEFAULT_COUNTS : named.map((text) => readCount('sessions', text));
await tell(MEASURED_HEAD, counts, measure);
await tell(SIMULATED_HEAD, crowds, simulate);
