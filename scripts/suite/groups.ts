// Unit tests of one folder in one process: to start Node and to load the same modules takes longer
// than most of them. A file shares a process only where nothing in it reaches beyond its own tests.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Below dist/src/, so that a file in no folder stays alone. */
const FOLDER = /\/dist\/src\/([\w-]+)\/.*\.test\.js$/;
/** What one file would do to its neighbours, or learn of them. */
const REACHES_OUT: readonly RegExp[] = [
  /node:(?:child_process|worker_threads|v8)/,
  /\bprocess\.(?!pid\b|platform\b|arch\b|versions?\b|hrtime\b|nextTick\b)/,
  /\b(?:PerformanceObserver|releaseScratch|globalThis)\b|\bmock\./,
  /\bimport \{[^}]*\b(?:before|beforeEach|afterEach)\b[^}]*\} from 'node:test'/,
];
const FILES_MAX = 16;

export interface Group {
  /** Folder and number. */
  readonly name: string;
  readonly files: readonly string[];
}

/** Files that share processes, and those that have one each. */
export function groupsOf(
  files: readonly string[],
  read: (path: string) => string,
): { readonly groups: readonly Group[]; readonly apart: readonly string[] } {
  const folders = new Map<string, string[]>();
  for (const path of files) {
    const folder = FOLDER.exec(path)?.[1];
    if (folder === undefined || reachesOut(read(path))) continue;
    folders.set(folder, [...(folders.get(folder) ?? []), path]);
  }
  const groups = [...folders].flatMap(([folder, members]) => cut(folder, members));
  const shared = new Set(groups.flatMap((group) => group.files));
  return { groups, apart: files.filter((path) => !shared.has(path)) };
}

function reachesOut(text: string): boolean {
  return REACHES_OUT.some((pattern) => pattern.test(text));
}

/** In parts of nearly the same length; a part of one file is none. */
function cut(folder: string, files: readonly string[]): Group[] {
  const count = Math.ceil(files.length / FILES_MAX);
  const length = Math.ceil(files.length / count);
  return Array.from({ length: count }, (_, index) => ({
    name: `${folder}-${index + 1}`,
    files: files.slice(index * length, (index + 1) * length),
  })).filter((group) => group.files.length > 1);
}

/** The module that runs the files of a group, one after another, in this folder; its path. */
export function writeGroup(folder: string, { name, files }: Group): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.mjs`);
  const lines = files.map((file) => `await import('${pathToFileURL(file).href}');\n`);
  writeFileSync(path, lines.join(''));
  return path;
}
