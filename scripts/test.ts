// `npm test`: every compiled test, or those whose path contains a filter; first those that bear
// neighbours, then one by one those that do not. Beside the latter, which mostly wait, the checks.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { repositoryRoot } from './repository.js';
import { setCertificatesAside } from './suite/certificates.js';
import { compiledTests } from './suite/compiled.js';
import { report, type Verdict } from './suite/reporter.js';
import { runFiles, withMates } from './suite/run-files.js';
import { sourcePaths } from './suite/source-paths.js';
import { readCount, readWords, refuse } from './words.js';

const USAGE = `npm test [-- FLAGS] [FILTER…]
  --check          \`npm run check\` too, beside the tests
  --again N        files that failed run once more, each alone, where N or fewer did
  --concurrency N  files at a time, of those that bear neighbours; 2 by default
  --except PART    leaves out files whose path contains it
  --root DIR       another tree with src/ and dist/`;

const { values, positionals } = readWords(USAGE, {
  options: {
    again: { type: 'string', default: '0' },
    check: { type: 'boolean', default: false },
    concurrency: { type: 'string', default: '2' },
    except: { type: 'string', multiple: true, default: [] },
    root: { type: 'string', default: repositoryRoot },
  },
  allowPositionals: true,
});
const concurrency = readCount('--concurrency', values.concurrency);
const againMax = readCount('--again', values.again, 0);
const root = resolve(values.root);
const files = compiledTests(sourcePaths(root), positionals)
  .filter((path) => !values.except.some((part) => path.includes(part)))
  .map((path) => join(root, path));
if (files.length === 0) refuse(`no test matches ${positionals.join(' ')}`);
const missing = files.filter((path) => !existsSync(path));
if (missing.length > 0) refuse(`not compiled, run npm run build: ${missing.join(' ')}`);
setCertificatesAside();
let checked: ReturnType<typeof runChecks> | undefined;
const failed = await runAndTell(files, concurrency, () => {
  if (values.check) checked = runChecks();
});
const outcome = await checked;
const runnable = failed.map((path) => runnersOf(path));
const canRunAgain = failed.length <= againMax && runnable.every((paths) => paths.length > 0);
const again = [...new Set(runnable.flat())];
if (failed.length > 0 && (!canRunAgain || !(await passAlone(again)))) process.exitCode = 1;
if (outcome !== undefined) {
  process.stdout.write(`\nnpm run check\n${outcome.said}`);
  process.exitCode ||= outcome.status;
}

/** The file itself; of a suite that several files run, those; none of what is no file of ours. */
function runnersOf(path: string): string[] {
  if (files.includes(path)) return [path];
  if (!existsSync(path)) return [];
  const name = `/${basename(path)}'`;
  return files.filter((file) => readFileSync(file, 'utf8').includes(name));
}

/** With nothing beside them but the files of the same process. */
async function passAlone(paths: readonly string[]): Promise<boolean> {
  const names = paths.map((path) => `  ${path}\n`).join('');
  process.stdout.write(`\n✖ failed above; once more, each alone, which decides:\n${names}\n`);
  let isGood = true;
  for (const mates of withMates(files, paths)) {
    if ((await runAndTell(mates, 1)).length > 0) isGood = false;
  }
  return isGood;
}

/** Files that failed. */
async function runAndTell(
  paths: readonly string[],
  atOnce: number,
  onCrowdOver?: () => void,
): Promise<string[]> {
  const verdict: Verdict = { failedFiles: new Set(), isRefused: false };
  const lines = report(runFiles(paths, atOnce, onCrowdOver), verdict);
  await pipeline(lines, process.stdout, { end: false });
  if (verdict.isRefused) process.exitCode = 1;
  return [...verdict.failedFiles];
}

/** On what the tests beside them leave idle: these hold times against limits. */
function runChecks(): Promise<{ readonly status: number; readonly said: string }> {
  const words = ['--idle', '0', process.execPath, join(repositoryRoot, 'dist/scripts/check.js')];
  const child = spawn('chrt', words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  }
  return new Promise((resolve) => {
    child.on('error', ({ message }) => resolve({ status: 1, said: `${message}\n` }));
    child.on('close', (status) => resolve({ status: status ?? 1, said }));
  });
}
