// The repository as the scripts see it: its root and the files that are, or would be, committed.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One file of the work tree; `text` is empty for binary files. */
export interface RepositoryFile {
  /** Relative to the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  readonly bytes: number;
}

/** Compiled scripts lie in dist/scripts, two folders below the root. */
export const repositoryRoot = fileURLToPath(new URL('../..', import.meta.url));

const IGNORED_FOLDERS = new Set(['.git', 'node_modules', 'dist', '.cache', 'build']);

export function readRepository(root: string = repositoryRoot): RepositoryFile[] {
  const files: RepositoryFile[] = [];
  for (const path of listPaths(root)) {
    const stat = statSync(join(root, path), { throwIfNoEntry: false });
    if (stat?.isFile() !== true) continue;
    const content = readFileSync(join(root, path));
    const isBinary = content.subarray(0, 8192).includes(0);
    files.push({ path, text: isBinary ? '' : content.toString('utf8'), bytes: stat.size });
  }
  return files;
}

// New files count before they are added, so that a violation shows before the commit.
function listPaths(root: string): string[] {
  const listed = git(root, ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  if (listed === undefined) return walk(root, '').sort();
  return [...new Set(listed.split('\0'))].filter((path) => path !== '').sort();
}

function git(root: string, words: readonly string[]): string | undefined {
  try {
    return execFileSync('git', words, {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 64 * 1024 * 1024,
    });
  } catch {
    return undefined;
  }
}

/** Every file below a folder, relative to the root; for trees that git does not know. */
export function walk(root: string, folder: string): string[] {
  const paths: string[] = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isFile()) paths.push(path);
    else if (entry.isDirectory() && !IGNORED_FOLDERS.has(entry.name)) {
      paths.push(...walk(root, path));
    }
  }
  return paths;
}
