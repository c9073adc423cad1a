// Parts of what is brought to hosts without Node: node itself, the app, and the one module that it
// needs.

import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../repository.js';

const KOFFI = `@koromix/koffi-linux-${process.arch}`;
const MODULE_PATHS = [
  ...['package.json', 'index.js', 'index.cjs', 'indirect.js', 'indirect.cjs', 'lib', 'src'].map(
    (path) => `koffi/${path}`,
  ),
  `${KOFFI}/package.json`,
  `${KOFFI}/index.js`,
  `${KOFFI}/linux_${process.arch}`,
];

export function runTool(tool: string, words: readonly string[], cwd = repositoryRoot): void {
  execFileSync(tool, words, { cwd, stdio: ['ignore', 'inherit', 'inherit'] });
}

/** The node of this process, in the folder; without its symbols unless they are wanted. */
export function stageNode(folder: string, isStripped = true): void {
  mkdirSync(folder, { recursive: true });
  copyFileSync(process.execPath, join(folder, 'node'));
  if (isStripped) runTool('strip', ['--strip-unneeded', 'node'], folder);
}

/** Files and folders of the project, and its module, as they lie here; some may be left out. */
export function stageApp(
  folder: string,
  paths: readonly string[],
  isWanted: (path: string) => boolean = () => true,
): void {
  for (const path of paths) copy(path, join(folder, path), isWanted);
  for (const path of MODULE_PATHS) {
    copy(join('node_modules', path), join(folder, 'node_modules', path), () => true);
  }
}

function copy(path: string, target: string, isWanted: (path: string) => boolean): void {
  const filter = (source: string): boolean => isWanted(source.slice(repositoryRoot.length));
  cpSync(join(repositoryRoot, path), target, { recursive: true, filter });
}
