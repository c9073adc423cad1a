// What depends on the release of Node, under the newest of every release line that we promise:
// calls to C, threads, pipes, memory, what the test runner prints, and `npm start`. The release
// that runs this file runs the whole suite anyway.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../repository.js';
import { compiledTests } from './compiled.js';
import { NODE_MAJORS, nodeBinary } from './node-binary.js';
import { outsideEnvironment } from './outside.js';
import { sourcePaths } from './source-paths.js';

/** Parts of paths. */
const FILES = [
  'src/ffi/', // calls to C
  '/lane-death.', // threads
  '/tcp-store.', // sockets
  '/metadata-socket.', // and streams on them
  '/suite.', // the test runner, processes and their pipes
];
/** Memory under load; its other attacks are of no concern to the release. */
const MEMORY = { file: '/hostile-server.', test: 'a million tiny frames' };
const RUN_MS_MAX = 120_000;
const ownMajor = Number(process.versions.node.split('.')[0]);

function runUnder(node: string, words: readonly string[]) {
  const options = { cwd: repositoryRoot, env: outsideEnvironment(), timeout: RUN_MS_MAX };
  return spawnSync(node, words, { ...options, encoding: 'utf8' });
}

function testsOf(part: string): string[] {
  return compiledTests(sourcePaths(repositoryRoot), [part]);
}

/** The reason is no excuse in continuous integration. */
function findNode(major: number, skip: (reason: string) => void): string | undefined {
  try {
    return major === ownMajor ? process.execPath : nodeBinary(major);
  } catch (error) {
    skip(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

for (const major of NODE_MAJORS) {
  test(`node ${major}: npm start's benchmark, and what depends on the release`, (t) => {
    const node = findNode(major, (reason) => t.skip(reason));
    if (node === undefined) return;
    const quick = ['--size', '1048576', '--iters', '3', '--warmup-seconds', '0'];
    const bench = runUnder(node, ['bin/tcpx.js', 'bench', 'loopback', ...quick]);
    assert.equal(bench.status, 0, bench.stderr);
    assert.match(bench.stdout, new RegExp(`all correct[^]*Node v${major}\\.`));
    if (major === ownMajor) return;
    const suite = runUnder(node, ['dist/scripts/test.js', '--concurrency', '1', ...FILES]);
    assert.equal(suite.status, 0, `${suite.stdout.slice(-20_000)}\n${suite.stderr}`);
    const pattern = `--test-name-pattern=${MEMORY.test}`;
    const words = ['--test', '--test-reporter=tap', pattern, ...testsOf(MEMORY.file)];
    const memory = runUnder(node, words);
    assert.equal(memory.status, 0, memory.stdout);
    assert.match(memory.stdout, /^# pass 1$/m);
    t.diagnostic(`${/duration_ms .*/.exec(suite.stdout)?.[0] ?? ''}, ${node}`);
  });
}

test('node versions: each part of a path belongs to a test', () => {
  for (const part of FILES) assert.ok(testsOf(part).length > 0, part);
  assert.equal(testsOf(MEMORY.file).length, 1);
});

test('node versions: engines in package.json begins where the tests begin', () => {
  const text = readFileSync(join(repositoryRoot, 'package.json'), 'utf8');
  const { engines } = JSON.parse(text) as { readonly engines: { readonly node: string } };
  assert.match(engines.node, new RegExp(`^>=${NODE_MAJORS[0] ?? ''}\\.`));
});
