// `npm test [-- FILTER…]`: runs every compiled test, or those whose path contains a filter.
//   --concurrency N      files at a time; 1 by default: tests measure and share the network
//   --file-timeout-ms N  after which a file is ended and fails
//   --root DIR           another tree with src/ and dist/; for the tests of this script

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { repositoryRoot } from './repository.js';
import { compiledTests } from './suite/compiled.js';
import { runFiles } from './suite/run-files.js';
import { forbiddenSkips, formatSkip, type Skip } from './suite/skips.js';
import { sourcePaths } from './suite/source-paths.js';

process.exitCode = await main();

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: {
      concurrency: { type: 'string', default: '1' },
      'file-timeout-ms': { type: 'string', default: '120000' },
      root: { type: 'string', default: repositoryRoot },
    },
    allowPositionals: true,
  });
  const concurrency = Number(values.concurrency);
  const fileTimeoutMs = Number(values['file-timeout-ms']);
  if (![concurrency, fileTimeoutMs].every((count) => Number.isInteger(count) && count > 0)) {
    return fail('--concurrency and --file-timeout-ms take a whole number above 0');
  }
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
