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

/** Files and folders of the project, and its module, as they lie here. */
export function stageApp(folder: string, paths: readonly string[]): void {
  const modules = MODULE_PATHS.map((path) => join('node_modules', path));
  for (const path of [...paths, ...modules]) {
    cpSync(join(repositoryRoot, path), join(folder, path), { recursive: true });
  }
}
