import assert from 'node:assert/strict';
import { test } from 'node:test';
import { baseOf, packedPaths } from './packed-paths.js';

const ENTRIES = ['bin', 'docs/*.md', 'native/e/*.c', 'native/e/e.h', '!native/e/driver*.c', 'src'];
const PATHS = ['bin/a.js', 'docs/a.md', 'docs/x/b.md', 'native/e/a.c', 'native/e/driver-x.c'];

test('packed paths: folders, names and stars, less what is taken out', () => {
  assert.deepEqual(packedPaths(ENTRIES, PATHS), ['bin/a.js', 'docs/a.md', 'native/e/a.c']);
  const tests = ['src/a.js', 'src/a.test.js', 'src/b/c.test.js', 'srcs/a.js', 'native/e/e.h.x'];
  assert.deepEqual(packedPaths([...ENTRIES, '!src/**/*.test.*'], tests), ['src/a.js']);
});

test('packed paths: entries left aside must be there', () => {
  assert.deepEqual(packedPaths(ENTRIES, PATHS, ['bin', 'docs/*.md']), ['native/e/a.c']);
  assert.throws(() => packedPaths(ENTRIES, PATHS, ['docs']), /not in files of package\.json: docs/);
});

test('packed paths: the folder before a star', () => {
  assert.deepEqual(['bin', 'docs/*.md', 'native/e/e.h'].map(baseOf), [
    'bin',
    'docs',
    'native/e/e.h',
  ]);
});
