import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isOvercommitForbidden } from './overcommit.js';

test('overcommit: forbidden by 2 alone, and where nobody can say', () => {
  const folder = mkdtempSync(join(tmpdir(), 'overcommit-'));
  const path = join(folder, 'value');
  for (const [text, isForbidden] of [
    ['0\n', false],
    ['1\n', false],
    ['2\n', true],
  ] as const) {
    writeFileSync(path, text);
    assert.equal(isOvercommitForbidden(path), isForbidden);
  }
  rmSync(folder, { recursive: true });
  assert.equal(isOvercommitForbidden(path), true);
});
