// `npm test`: every compiled test, or those whose path contains a filter; first those that bear
// neighbours, then one by one those that do not.

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { repositoryRoot } from './repository.js';
import { compiledTests } from './suite/compiled.js';
import { report } from './suite/reporter.js';
import { runFiles } from './suite/run-files.js';
import { sourcePaths } from './suite/source-paths.js';
import { readCount, readWords, refuse } from './words.js';

const USAGE = `npm test [-- FLAGS] [FILTER…]
  --concurrency N  files at a time, of those that bear neighbours; 3 by default
  --except PART    leaves out files whose path contains it
  --root DIR       another tree with src/ and dist/`;

const { values, positionals } = readWords(USAGE, {
  options: {
    concurrency: { type: 'string', default: '3' },
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
await pipeline(report(runFiles(files, concurrency)), process.stdout, { end: false });
