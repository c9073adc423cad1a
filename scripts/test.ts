// `npm test`: runs every compiled test, or those whose path contains a filter.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { repositoryRoot } from './repository.js';
import { compiledTests } from './suite/compiled.js';
import { runFiles } from './suite/run-files.js';
import { forbiddenSkips, formatSkip, type Skip } from './suite/skips.js';
import { sourcePaths } from './suite/source-paths.js';
import { readCount, readWords } from './words.js';

const USAGE = `npm test [-- FLAGS] [FILTER…]
  --concurrency N      files at a time; 1 by default: tests measure and share the network
  --file-timeout-ms N  after which a file is ended and fails
  --root DIR           another tree with src/ and dist/`;

process.exitCode = await main();

async function main(): Promise<number> {
  const { values, positionals } = readWords(USAGE, {
    options: {
      concurrency: { type: 'string', default: '1' },
      'file-timeout-ms': { type: 'string', default: '120000' },
      root: { type: 'string', default: repositoryRoot },
    },
    allowPositionals: true,
  });
  const concurrency = readCount('--concurrency', values.concurrency);
  const fileTimeoutMs = readCount('--file-timeout-ms', values['file-timeout-ms']);
  const root = resolve(values.root);
  const files = compiledTests(sourcePaths(root), positionals).map((path) => join(root, path));
  if (files.length === 0) return fail(`no test matches ${positionals.join(' ')}`);
  const missing = files.filter((path) => !existsSync(path));
  if (missing.length > 0) return fail(`not compiled, run npm run build: ${missing.join(' ')}`);
  const result = await runFiles({ files, root, concurrency, fileTimeoutMs });
  const isGood = reportSkips(result.skips, process.env['CI'] === 'true') && !result.hasFailure;
  return isGood ? 0 : 1;
}

function reportSkips(skips: readonly Skip[], isCi: boolean): boolean {
  const forbidden = forbiddenSkips(skips, isCi);
  if (skips.length > 0) {
    process.stdout.write(`\nskipped ${skips.length}:\n`);
    for (const skip of skips) process.stdout.write(`  ${formatSkip(skip)}\n`);
  }
  if (forbidden.length > 0) {
    process.stdout.write('\nnot allowed to be skipped where CI=true:\n');
    for (const skip of forbidden) process.stdout.write(`  ${formatSkip(skip)}\n`);
  }
  return forbidden.length === 0;
}

function fail(reason: string): number {
  process.stderr.write(`test: ${reason}\n`);
  return 1;
}
