// `npm run docs`: writes every generated page and block.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyGenerator } from './docs/generator.js';
import { GENERATORS } from './docs/generators.js';
import { repositoryRoot } from './repository.js';

for (const generator of GENERATORS) {
  const path = join(repositoryRoot, generator.path);
  const before = existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  const outcome = applyGenerator(generator, before);
  if (outcome.fault !== undefined) {
    process.stderr.write(`${generator.path}: ${outcome.fault}\n`);
    process.exitCode = 1;
  } else if (outcome.text !== before) {
    writeFileSync(path, outcome.text);
    process.stderr.write(`${generator.path}: written\n`);
  }
}
