// `npm run sim -- --seeds N [--from S] [--workers W]` or `npm run sim -- --seed S`: sessions on a
// virtual network with seeded accidents. Many seeds are shared out over processes; one seed runs
// here and prints what happened.

import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runSeed } from '../test/support/sim/run-seed.js';
import {
  addFigures,
  replayCommand,
  runSeeds,
  type SeedFailure,
  type SeedsOutcome,
  seedRange,
} from '../test/support/sim/run-seeds.js';
import { readCount, readWords } from './words.js';

interface Share {
  readonly from: number;
  readonly count: number;
  readonly workers: number;
  readonly index: number;
}

const USAGE = `npm run sim [-- --seeds N] [--from S] [--workers W]
npm run sim -- --seed S`;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = readWords(USAGE, {
    options: {
      seeds: { type: 'string', default: '1000' },
      seed: { type: 'string' },
      from: { type: 'string', default: '1' },
      workers: { type: 'string', default: String(availableParallelism()) },
      share: { type: 'string' },
    },
  });
  if (values.seed !== undefined) return replay(readCount('--seed', values.seed, 0));
  const count = readCount('--seeds', values.seeds);
  const from = readCount('--from', values.from, 0);
  const workers = readCount('--workers', values.workers);
  if (values.share !== undefined) {
    return work({ from, count, workers, index: readCount('--share', values.share, 0) });
  }
  return runAll(from, count, Math.min(workers, count));
}

async function replay(seed: number): Promise<number> {
  const trace = (line: string): void => void process.stdout.write(`${line}\n`);
  try {
    const figures = await runSeed(seed, { trace });
    process.stdout.write(`seed ${seed}: good, ${JSON.stringify(figures)}\n`);
    return 0;
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stdout.write(`seed ${seed}: ${text}\n`);
    return 1;
  }
}

// One of several processes: every so-manieth seed, results as lines of JSON.
async function work(share: Share): Promise<number> {
  const { from, count, workers, index } = share;
  const seeds = seedRange(from + index, count - index, workers);
  const print = (value: object): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
  const outcome = await runSeeds(seeds, {}, (failure) => print({ failure }));
  print({ outcome });
  return 0;
}

async function runAll(from: number, count: number, workers: number): Promise<number> {
  const startMs = performance.now();
  const shares = Array.from({ length: workers }, (_, index) =>
    runShare({ from, count, workers, index }),
  );
  const outcomes = await Promise.all(shares);
  const ended = outcomes.filter((outcome) => outcome !== undefined);
  const failures = ended.reduce((sum, outcome) => sum + outcome.failures.length, 0);
  const [first, ...rest] = ended.map(({ figures }) => figures);
  const figures = first === undefined ? {} : rest.reduce(addFigures, first);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  process.stdout.write(
    `${count} seeds from ${from}, ${failures} failures, ${seconds} s, ${JSON.stringify(figures)}\n`,
  );
  return failures === 0 && ended.length === workers ? 0 : 1;
}

async function runShare(share: Share): Promise<SeedsOutcome | undefined> {
  const { from, count, workers, index } = share;
  const script = fileURLToPath(import.meta.url);
  const values = { seeds: count, from, workers, share: index };
  const flags = Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)]);
  // Short-lived objects of a run fit into a larger young generation.
  const child = spawn(process.execPath, ['--max-semi-space-size=64', script, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let outcome: SeedsOutcome | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const message = JSON.parse(line) as { failure?: SeedFailure; outcome?: SeedsOutcome };
    if (message.failure !== undefined) report(message.failure);
    outcome = message.outcome ?? outcome;
  }
  if (outcome === undefined) process.stdout.write(`process ${index} ended early\n`);
  return outcome;
}

function report({ seed, reason }: SeedFailure): void {
  process.stdout.write(`seed ${seed}: ${reason}\n  ${replayCommand(seed)}\n`);
}
