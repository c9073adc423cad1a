import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileReason } from './file-reason.js';

test('file reason: without call and path, which stand beside it already', () => {
  const reasonOf = (path: string) => {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      return fileReason(error);
    }
  };
  assert.equal(reasonOf('/no/such, file'), 'ENOENT: no such file or directory');
  assert.equal(reasonOf('/'), 'EISDIR: illegal operation on a directory');
  assert.equal(fileReason(new Error('a, b')), 'a, b');
});
