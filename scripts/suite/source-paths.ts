// The sources that the compiler turns into dist/: the folders that tsconfig.json includes.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { walk } from '../repository.js';

const SOURCE_FOLDERS = ['src', 'test', 'scripts', 'examples'];

export function sourcePaths(root: string): string[] {
  return SOURCE_FOLDERS.filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => walk(root, folder))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
}
