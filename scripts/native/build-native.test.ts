// The native build as a child process: what it says without a compiler, and that it rests.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { repositoryRoot } from '../repository.js';

function build(variables: Readonly<Record<string, string>>) {
  return spawnSync(process.execPath, ['dist/scripts/build-native.js'], {
    cwd: repositoryRoot,
    encoding: 'utf8',
    env: { ...process.env, ...variables },
  });
}

test('native build: without a compiler it names what to install and exits with 3', () => {
  const { status, stderr } = build({ CC: 'no-such-compiler' });
  assert.equal(status, 3);
  assert.match(stderr, /^ERR_CAP_MISSING_TOOL: no-such-compiler: not found; .*apt install gcc/);
  assert.doesNotMatch(stderr, /\n\s+at /);
});

test('native build: unchanged sources are not compiled again', () => {
  assert.equal(build({}).status, 0);
  const { status, stderr } = build({});
  assert.equal(status, 0);
  assert.equal(stderr, '');
});
