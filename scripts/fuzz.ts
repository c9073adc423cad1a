// `npm run fuzz -- [--seconds N] [--seed S] [FILTER…]`: every fuzz target, or those whose name or
// file contains a filter, batch after batch. A failure prints its seed; with that --seed and the
// target's name as filter the first batch fails again. --list prints the targets.

import { randomInt } from 'node:crypto';
import { runCampaign } from './fuzz/campaign.js';
import { findTargets } from './fuzz/find-targets.js';
import { readCount, readWords, refuse } from './words.js';

process.exitCode = await main();

async function main(): Promise<number> {
  const usage = 'npm run fuzz [-- --seconds N] [--seed S] [--list] [FILTER…]';
  const { values, positionals } = readWords(usage, {
    allowPositionals: true,
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(randomInt(2 ** 31)) },
      list: { type: 'boolean', default: false },
    },
  });
  const seconds = readCount('--seconds', values.seconds, 0);
  const seed = readCount('--seed', values.seed, 0);
  const targets = await findTargets(positionals);
  if (targets.length === 0) refuse(`no target is called ${positionals.join(' or ')}; see --list`);
  if (values.list) {
    for (const { name, runs } of targets) process.stdout.write(`${name} (${runs} runs a batch)\n`);
    return 0;
  }
  return fuzz(targets, seconds, seed);
}

async function fuzz(
  targets: Awaited<ReturnType<typeof findTargets>>,
  seconds: number,
  seed: number,
): Promise<number> {
  process.stdout.write(`fuzz: ${targets.length} targets, ${seconds} s, seed ${seed}\n`);
  let current = '';
  // What no promise catches would end the process without a word about the seed.
  for (const event of ['uncaughtException', 'unhandledRejection']) {
    process.on(event, (error: unknown) => {
      process.stderr.write(`fuzz: ${event} in ${current}: ${String(error)}\n`);
      if (error instanceof Error) process.stderr.write(`${error.stack ?? ''}\n`);
      process.exit(1);
    });
  }
  const startMs = performance.now();
  const { runs, batches, failure } = await runCampaign({
    targets,
    seconds,
    seed,
    onBatch: (target, batchSeed) => {
      current = `"${target.name}", seed ${batchSeed}`;
    },
  });
  const tookSeconds = Math.round((performance.now() - startMs) / 1000);
  process.stdout.write(`fuzz: ${runs} runs in ${batches} batches, ${tookSeconds} s\n`);
  if (failure === undefined) return 0;
  process.stderr.write(
    `fuzz: FAILED ${failure.target}\n  input ${failure.input}\n  ${failure.reason}\n` +
      `replay: npm run fuzz -- --seconds 0 --seed ${failure.seed} '${failure.target}'\n`,
  );
  return 1;
}
