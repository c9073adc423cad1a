// The tables of hops name functions that exist, where they say, and count them right.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../repository.js';

const ROW = /^\| \d+ \| [^|]+ \| \[[^\]]+\]\(\.\.\/(src\/[^)]+)\) \| ([^|]+) \|/;
const COUNT = /(\d+) functions in (\d+) files/;

function read(path: string): string {
  return readFileSync(join(repositoryRoot, path), 'utf8');
}

interface Hop {
  readonly file: string;
  readonly names: readonly string[];
}

/** The tables, each with the count that stands before it. */
function tables(): { readonly claim: string; readonly hops: readonly Hop[] }[] {
  const found: { claim: string; hops: Hop[] }[] = [];
  for (const line of read('docs/architecture.md').split('\n')) {
    const count = COUNT.exec(line);
    if (count !== null) found.push({ claim: count[0], hops: [] });
    const [, file, cell = ''] = ROW.exec(line) ?? [];
    if (file === undefined) continue;
    const names = [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    found.at(-1)?.hops.push({ file, names });
  }
  return found;
}

test('architecture page: every function of the tables is made in the file that is named', () => {
  const all = tables();
  assert.equal(all.length, 3, 'a WRITE, a transfer through the plugin, a NIXL post');
  for (const { hops } of all) {
    assert.ok(hops.length > 5);
    for (const { file, names } of hops) {
      assert.ok(names.length > 0, file);
      const source = read(file);
      for (const name of names) {
        const made = new RegExp(`^ *(export |async |function |static )*${name}(<[^>]*>)?\\(`, 'm');
        assert.match(source, made, `${file} ${name}`);
      }
    }
  }
});

test('architecture page: the functions and files are as many as it says', () => {
  for (const { claim, hops } of tables()) {
    const functions = new Set(hops.flatMap(({ file, names }) => names.map((n) => `${file} ${n}`)));
    const files = new Set(hops.map(({ file }) => file));
    assert.equal(claim, `${functions.size} functions in ${files.size} files`);
  }
});
