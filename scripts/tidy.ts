// `npm run tidy`, part of `npm run check`: the house rules that compiler and linter do not know.
// Prints `path:line: rule: message` for each violation and exits with 1 if there is any.
// With --shrink it first tightens the ratchet as far as the tree allows.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '../src/base/errors.js';
import { SETTING_NAMES } from '../src/base/settings.js';
import { GENERATORS } from './docs/generators.js';
import { CLOSED_LAYERS, LAYERS } from './layers.js';
import {
  type RepositoryFile,
  readCommitted,
  readRepository,
  repositoryRoot,
} from './repository.js';
import { checkBannedCalls } from './tidy/banned-calls.js';
import { checkDocsIndex, checkGenerated, checkLinks } from './tidy/docs.js';
import { checkLayers, checkLayerTable } from './tidy/layers.js';
import { checkFileBytes, checkForeignPaths, checkUnfinished } from './tidy/leftovers.js';
import { checkLineWidth } from './tidy/line-width.js';
import {
  checkRatchetShrinks,
  checkRatchetTight,
  RATCHET_PATH,
  type Ratchet,
  readRatchet,
  shrinkRatchet,
} from './tidy/ratchet.js';
import { checkSizes, measureSizes } from './tidy/size.js';
import { checkUnused, measureUnused } from './tidy/unused.js';
import { formatViolation, type Violation } from './tidy/violation.js';

const RULES = { layers: LAYERS, closedLayers: CLOSED_LAYERS };
const DECLARED = { settings: SETTING_NAMES, errorCodes: Object.keys(ERROR_CODES) };

const files = readRepository();
const ratchetFile = join(repositoryRoot, RATCHET_PATH);
if (process.argv.includes('--shrink')) {
  const shrunk = shrinkRatchet(readRatchetFile(), measure(files));
  writeFileSync(ratchetFile, `${JSON.stringify(shrunk, null, 2)}\n`);
}
const violations = checkAll(files, readRatchetFile());
for (const violation of violations) process.stdout.write(`${formatViolation(violation)}\n`);
if (violations.length > 0) {
  process.stderr.write(`tidy: ${violations.length} violations\n`);
  process.exitCode = 1;
}

function readRatchetFile(): Ratchet {
  return readRatchet(readFileSync(ratchetFile, 'utf8'));
}

function measure(all: readonly RepositoryFile[]): Ratchet {
  return { ...measureSizes(all), ...measureUnused(all, DECLARED) };
}

function checkAll(all: readonly RepositoryFile[], ratchet: Ratchet): Violation[] {
  const committed = readCommitted(RATCHET_PATH);
  return [
    ...checkLayers(all, RULES),
    ...checkLayerTable(all, RULES),
    ...checkLineWidth(all),
    ...checkSizes(all, ratchet),
    ...checkBannedCalls(all),
    ...checkUnused(all, DECLARED, ratchet),
    ...checkRatchetTight(ratchet, measure(all)),
    ...(committed === undefined ? [] : checkRatchetShrinks(ratchet, readRatchet(committed))),
    ...checkUnfinished(all),
    ...checkForeignPaths(all, repositoryRoot),
    ...checkFileBytes(all),
    ...checkDocsIndex(all),
    ...checkLinks(all),
    ...checkGenerated(all, GENERATORS),
  ];
}
