import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../repository.js';
import { classesWithoutExample, uncommentedNames } from './api-comments.js';

test('API comments: every public name and member says what it is', () => {
  assert.deepEqual(uncommentedNames(), []);
});

test('API comments: every public class has an example', () => {
  assert.deepEqual(classesWithoutExample(), []);
});

test('API comments: a name and a member without one are found', () => {
  const folder = mkdtempSync(join(repositoryRoot, 'dist/src/comments-'));
  try {
    const door = join(folder, 'door.d.ts');
    writeFileSync(
      door,
      'export interface Bare { readonly count: number }\n' +
        '/** Told. */\nexport declare class Told { private hidden;\n' +
        '/** Known. */ known(): void; quiet(): void }\n',
    );
    assert.deepEqual(uncommentedNames(door), ['Bare', 'Bare.count', 'Told.quiet']);
    assert.deepEqual(classesWithoutExample(door), ['Told']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
