import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../repository.js';
import { publicNames } from './public-names.js';

function read(path: string): string {
  return readFileSync(join(repositoryRoot, path), 'utf8');
}

test('API page: speaks of every public name', () => {
  const names = publicNames(read('src/index.ts')).flatMap((entry) => entry.names);
  assert.ok(names.length > 10, names.join(' '));
  const page = read('docs/api.md');
  for (const name of names) assert.match(page, new RegExp(`\\b${name}\\b`));
});

test('API page: lists every public member of Engine, Session and Transfer', () => {
  const page = read('docs/api.md');
  for (const file of ['engine', 'session', 'transfer']) {
    const types = read(`dist/src/engine/${file}.d.ts`);
    const body = types.slice(
      types.search(/^export (declare class|interface) (Engine|Session|Transfer) /m),
    );
    const members = [...body.matchAll(/^ {4}(?:static |readonly |get )*(\w+)[(:]/gm)]
      .map((match) => match[1] ?? '')
      .filter((name) => !['constructor', 'private'].includes(name));
    assert.ok(members.length > 5, `${file}: ${members.join(' ')}`);
    for (const name of members) assert.match(page, new RegExp(`\\b${name}\\b`), `${file} ${name}`);
  }
});
