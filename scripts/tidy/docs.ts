// Documentation: every page is indexed once, links lead somewhere, generated pages are current.

import { posix } from 'node:path';
import { applyGenerator, type Generator } from '../docs/generator.js';
import { anchorsOf, linksOf } from './markdown.js';
import { isMarkdown, type TextFile, type Violation } from './violation.js';

const INDEX_PATH = 'docs/README.md';

export function checkDocsIndex(files: readonly TextFile[]): Violation[] {
  const pages = files
    .map((file) => file.path)
    .filter((path) => /^docs\/(decisions\/)?[^/]+\.md$/.test(path) && path !== INDEX_PATH);
  const index = files.find((file) => file.path === INDEX_PATH);
  const listed = linksOf(index?.text ?? '').map((link) =>
    posix.join('docs', link.target.replace(/#.*/, '')),
  );
  return pages.flatMap((path) => {
    const count = listed.filter((target) => target === path).length;
    if (count === 1) return [];
    const message = `listed ${count} times in ${INDEX_PATH}; list it exactly once`;
    return [{ path, line: 1, rule: 'docs-index', message }];
  });
}

export function checkLinks(files: readonly TextFile[]): Violation[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const folders = new Set(files.flatMap((file) => parentsOf(file.path)));
  const violations: Violation[] = [];
  for (const page of files.filter(isMarkdown)) {
    if (page.path.startsWith('test/fixtures/')) continue;
    for (const { target, line } of linksOf(page.text)) {
      if (/^[a-z][a-z0-9+.-]*:/i.test(target)) continue;
      const message = deadReason(page, target, byPath, folders);
      if (message !== undefined) violations.push({ path: page.path, line, rule: 'link', message });
    }
  }
  return violations;
}

function deadReason(
  page: TextFile,
  target: string,
  byPath: ReadonlyMap<string, TextFile>,
  folders: ReadonlySet<string>,
): string | undefined {
  const [name = '', anchor] = target.split('#');
  if (name.startsWith('/')) return `${target} is absolute; write it relative to this page`;
  const joined = posix.join(posix.dirname(page.path), decodeURIComponent(name));
  const path = name === '' ? page.path : joined.replace(/\/$/, '');
  const file = byPath.get(path);
  if (file === undefined) {
    return folders.has(path) ? undefined : `${target} does not exist; correct or remove the link`;
  }
  if (anchor === undefined || anchor === '' || !isMarkdown(file)) return undefined;
  const anchors = anchorsOf(file.text);
  if (anchors.has(decodeURIComponent(anchor))) return undefined;
  return `${target}: no heading #${anchor} in ${path}; there are: ${[...anchors].join(', ')}`;
}

function parentsOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return ['.', ...parts.map((_, index) => parts.slice(0, index + 1).join('/'))];
}

export function checkGenerated(
  files: readonly TextFile[],
  generators: readonly Generator[],
): Violation[] {
  // Several blocks may live in one page: apply them in turn, as the writer does.
  const current = new Map(files.map((file) => [file.path, file.text]));
  return generators.flatMap((generator) => {
    const { path } = generator;
    const before = current.get(path);
    const outcome = applyGenerator(generator, before);
    if (outcome.fault !== undefined) {
      return [{ path, line: 1, rule: 'generated', message: outcome.fault }];
    }
    current.set(path, outcome.text);
    if (before === outcome.text) return [];
    const line = firstDifference(before ?? '', outcome.text);
    return [{ path, line, rule: 'generated', message: 'out of date; run npm run docs' }];
  });
}

function firstDifference(before: string, after: string): number {
  const lines = after.split('\n');
  const index = before.split('\n').findIndex((line, number) => line !== lines[number]);
  return Math.max(0, index) + 1;
}
