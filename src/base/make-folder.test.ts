import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolder } from './make-folder.js';

test('make folder: with those above it, again without an error, never over a file', () => {
  const root = mkdtempSync(join(tmpdir(), 'tcpx-'));
  try {
    const folder = join(root, 'a', 'b', 'c');
    makeFolder(folder);
    makeFolder(`${folder}/`);
    assert.ok(statSync(folder).isDirectory());
    writeFileSync(join(root, 'file'), '');
    assert.throws(() => makeFolder(join(root, 'file')), { code: 'EEXIST' });
    assert.throws(() => makeFolder(join(root, 'file', 'x')), { code: 'ENOTDIR' });
  } finally {
    rmSync(root, { recursive: true });
  }
});

test('make folder: below /proc it is an error, not an endless call', () => {
  assert.throws(() => makeFolder('/proc/tcpx/state'), { code: 'ENOENT' });
});
