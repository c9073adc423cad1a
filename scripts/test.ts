// `npm test`: `node --test` over every compiled test, or over those whose path contains a filter;
// first those that bear neighbours, then one by one those that do not.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { repositoryRoot } from './repository.js';
import { runsAlone } from './suite/alone.js';
import { compiledTests } from './suite/compiled.js';
import { sourcePaths } from './suite/source-paths.js';
import { readCount, readWords, refuse } from './words.js';

const USAGE = `npm test [-- FLAGS] [FILTER…]
  --concurrency N  files at a time, of those that bear neighbours; 2 by default
  --except PART    leaves out files whose path contains it
  --root DIR       another tree with src/ and dist/`;
const REPORTER = fileURLToPath(new URL('suite/reporter.js', import.meta.url));

const { values, positionals } = readWords(USAGE, {
  options: {
    concurrency: { type: 'string', default: '2' },
    except: { type: 'string', multiple: true, default: [] },
    root: { type: 'string', default: repositoryRoot },
  },
  allowPositionals: true,
});
const concurrency = readCount('--concurrency', values.concurrency);
const root = resolve(values.root);
const files = compiledTests(sourcePaths(root), positionals)
  .filter((path) => !values.except.some((part) => path.includes(part)))
  .map((path) => join(root, path));
if (files.length === 0) refuse(`no test matches ${positionals.join(' ')}`);
const missing = files.filter((path) => !existsSync(path));
if (missing.length > 0) refuse(`not compiled, run npm run build: ${missing.join(' ')}`);
process.exitCode = runAll();

function runAll(): number {
  const together = files.filter((path) => !runsAlone(path));
  const alone = files.filter(runsAlone);
  if (alone.length === 0) return run(together, concurrency, {});
  if (together.length === 0) return run(alone, 1, {});
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-test-'));
  try {
    const outcome = join(folder, 'outcome.json');
    const first = run(together, concurrency, { TEST_LATER: outcome });
    // Without an outcome node has not come to its end.
    if (!existsSync(outcome)) return first === 0 ? 1 : first;
    const second = run(alone, 1, { TEST_EARLIER: outcome });
    return first === 0 ? second : first;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function run(paths: readonly string[], atOnce: number, own: NodeJS.ProcessEnv): number {
  const words = ['--test', `--test-concurrency=${atOnce}`, `--test-reporter=${REPORTER}`, ...paths];
  const env = { ...process.env, ...own };
  return spawnSync(process.execPath, words, { stdio: 'inherit', env }).status ?? 1;
}
