// What must not be committed: marks of unfinished work, paths of somebody's machine, large files.

import type { RepositoryFile } from '../repository.js';
import type { TextFile, Violation } from './violation.js';

const FILE_BYTES_MAX = 512 * 1024;

// Written in pieces, so that this file passes its own check.
const MARKS = ['FIX' + 'ME', 'TO' + 'DO', 'X' + 'XX'];
const UNFINISHED = new RegExp(`\\b(${MARKS.join('|')})\\b`);
const FOREIGN_PATHS: readonly RegExp[] = [
  /(?<![\w.-])[/]work[/]/,
  /\.\.[/]shared(?![\w-])/,
  /(?<![\w.-])[/]tmp[/]wt\b/,
];
const EXEMPT = /^package-lock\.json$|^test\/fixtures\/|^LICENSE$/;

export function checkUnfinished(files: readonly TextFile[]): Violation[] {
  return matchLines(files, [UNFINISHED], 'unfinished', (found) => {
    return `${found} left over; do it, or write what is missing into the documentation`;
  });
}

/** `root` is the work tree's own path; short ones could be part of any text and are left out. */
export function checkForeignPaths(files: readonly TextFile[], root?: string): Violation[] {
  const patterns = [...FOREIGN_PATHS];
  const own = root?.replace(/\/$/, '') ?? '';
  if (own.split('/').length > 3) patterns.push(new RegExp(`(?<![\\w.-])${escapeRegExp(own)}`));
  return matchLines(files, patterns, 'foreign-path', (found) => {
    return `${found.trim()} exists on one machine only; name it relative to the repository`;
  });
}

export function checkFileBytes(files: readonly RepositoryFile[]): Violation[] {
  return files
    .filter((file) => file.bytes > FILE_BYTES_MAX)
    .map(({ path, bytes }) => {
      const message = `${bytes} bytes, at most ${FILE_BYTES_MAX}; generate it, or keep a sample`;
      return { path, line: 1, rule: 'file-bytes', message };
    });
}

function matchLines(
  files: readonly TextFile[],
  patterns: readonly RegExp[],
  rule: string,
  explain: (found: string) => string,
): Violation[] {
  const violations: Violation[] = [];
  for (const file of files) {
    if (EXEMPT.test(file.path)) continue;
    for (const [index, line] of file.text.split('\n').entries()) {
      const found = patterns.map((pattern) => pattern.exec(line)?.[0]).find(isDefined);
      if (found === undefined) continue;
      violations.push({ path: file.path, line: index + 1, rule, message: explain(found) });
    }
  }
  return violations;
}

function isDefined(value: string | undefined): value is string {
  return value !== undefined;
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
