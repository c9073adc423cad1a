// `npm run check`, behind the build: ESLint, which takes longest, and beside it one after another
// all that is quicker. Everything is run and told, whatever fails.

import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { repositoryRoot } from './repository.js';
import { readWords } from './words.js';

readWords('npm run check', { options: {} });

const SLOW = [['eslint', '.']];
const QUICK = [
  ['biome', 'format', '.'],
  ['knip'],
  ['knip', '--production', '--include', 'files'],
  ['tidy.js'],
];

/** Linters keep what they make: a small young generation would be copied again and again. */
const ROOMY = ['--max-semi-space-size=64', '--min-semi-space-size=32'];

const statuses = (await Promise.all([SLOW, QUICK].map(runSteps))).flat();
process.exitCode = statuses.find((status) => status !== 0) ?? 0;

async function runSteps(steps: readonly (readonly string[])[]): Promise<number[]> {
  const outcomes: number[] = [];
  for (const step of steps) outcomes.push(await runStep(step));
  return outcomes;
}

/** A script of ours, or a program of a package; what it says comes at once, when it has ended. */
function runStep([name = '', ...words]: readonly string[]): Promise<number> {
  const isOurs = name.endsWith('.js');
  const program = join(repositoryRoot, isOurs ? 'dist/scripts' : 'node_modules/.bin', name);
  const child = spawn(process.execPath, [...ROOMY, program, ...words], {
    cwd: repositoryRoot,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => said.push(bytes));
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => {
      process.stdout.write(Buffer.concat(said));
      if (status !== 0) process.stderr.write(`check: ${name} ${words.join(' ')}: failed\n`);
      resolve(status ?? 1);
    });
  });
}
