// The fuzz targets of the tree: what every *.fuzz.ts exports.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FuzzTarget } from '../../test/support/fuzz-target.js';
import { repositoryRoot } from '../repository.js';
import { sourcePaths } from '../suite/source-paths.js';

/** Those whose name or path contains one of the filters; all without a filter. */
export async function findTargets(filters: readonly string[] = []): Promise<FuzzTarget[]> {
  const targets: FuzzTarget[] = [];
  for (const path of sourcePaths(repositoryRoot).filter((one) => one.endsWith('.fuzz.ts'))) {
    const compiled = join(repositoryRoot, 'dist', path.replace(/\.ts$/, '.js'));
    const module = (await import(pathToFileURL(compiled).href)) as { FUZZ_TARGETS?: unknown };
    if (!Array.isArray(module.FUZZ_TARGETS)) throw new Error(`${path} exports no FUZZ_TARGETS`);
    const found = module.FUZZ_TARGETS as FuzzTarget[];
    targets.push(...found.filter(({ name }) => isWanted(`${path} ${name}`, filters)));
  }
  return targets;
}

function isWanted(text: string, filters: readonly string[]): boolean {
  return filters.length === 0 || filters.some((filter) => text.includes(filter));
}
