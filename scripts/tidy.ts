// `npm run tidy`, part of `npm run check`: the house rules that compiler and linter do not know.
// Prints `path:line: rule: message` for each violation and exits with 1 if there is any.

import { ERROR_CODES } from '../src/base/errors.js';
import { SETTING_NAMES } from '../src/base/settings.js';
import { GENERATORS } from './docs/generators.js';
import { CLOSED_LAYERS, LAYERS } from './layers.js';
import { readRepository, repositoryRoot } from './repository.js';
import { checkBannedCalls } from './tidy/banned-calls.js';
import { checkDocsIndex, checkGenerated, checkLinks } from './tidy/docs.js';
import { checkLayers, checkLayerTable } from './tidy/layers.js';
import { checkFileBytes, checkForeignPaths, checkUnfinished } from './tidy/leftovers.js';
import { checkLineWidth } from './tidy/line-width.js';
import { checkUnused } from './tidy/unused.js';
import { formatViolation } from './tidy/violation.js';

const RULES = { layers: LAYERS, closedLayers: CLOSED_LAYERS };
const DECLARED = { settings: SETTING_NAMES, errorCodes: Object.keys(ERROR_CODES) };

const all = readRepository();
const violations = [
  ...checkLayers(all, RULES),
  ...checkLayerTable(all, RULES),
  ...checkLineWidth(all),
  ...checkBannedCalls(all),
  ...checkUnused(all, DECLARED),
  ...checkUnfinished(all),
  ...checkForeignPaths(all, repositoryRoot),
  ...checkFileBytes(all),
  ...checkDocsIndex(all),
  ...checkLinks(all),
  ...checkGenerated(all, GENERATORS),
];
for (const violation of violations) process.stdout.write(`${formatViolation(violation)}\n`);
if (violations.length > 0) {
  process.stderr.write(`tidy: ${violations.length} violations\n`);
  process.exitCode = 1;
}
