// The test runner. It is run as a child on a small tree of its own, because node refuses to start
// a run within a run.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { repositoryRoot } from '../repository.js';
import { ALONE, IN_PAIRS } from './alone.js';
import { compiledTests, staleOutputs } from './compiled.js';
import { groupsOf } from './groups.js';
import { newestOf } from './newest-version.js';
import { outsideEnvironment } from './outside.js';
import { WAITING } from './run-files.js';
import { sourcePaths } from './source-paths.js';

const HEAD = "import { test } from 'node:test';\n";
const EXCUSED = "test('gpu', (t) => { t.skip('needs a GPU with peer access'); });";
const COST = /\nCPU seconds: (\d+) in all; the dearest files\n +[\d.]+ (\S+)\n/;

test('compiled: outputs without a source are stale, others and foreign files are not', () => {
  const outputs = ['dist/src/a.js', 'dist/src/b.js', 'dist/src/b.d.ts', 'dist/src/b.js.map'];
  const stale = staleOutputs([...outputs, 'dist/.tsbuildinfo'], ['src/a.ts']);
  assert.deepEqual(stale, ['dist/src/b.js', 'dist/src/b.d.ts', 'dist/src/b.js.map']);
});

test('compiled: tests are chosen by source, filters by part of the path', () => {
  const sources = ['test/e2e/z.test.ts', 'src/lane/ring.test.ts', 'src/lane/ring.ts'];
  const all = ['dist/src/lane/ring.test.js', 'dist/test/e2e/z.test.js'];
  assert.deepEqual(compiledTests(sources, []), all);
  assert.deepEqual(compiledTests(sources, ['ring', 'nothing']), all.slice(0, 1));
});

test('groups: unit tests of a folder share processes, unless they reach out', () => {
  const texts: Readonly<Record<string, string>> = {
    '/x/dist/src/flow/a.test.js': "import { after, test } from 'node:test';",
    '/x/dist/src/flow/b.test.js': 'const id = process.pid;',
    '/x/dist/src/flow/c/d.test.js': 'test(1)',
    '/x/dist/src/flow/env.test.js': "process.env['A'] = 'b'",
    '/x/dist/src/flow/hook.test.js': "import { beforeEach, test } from 'node:test';",
    '/x/dist/src/flow/thread.test.js': "import { Worker } from 'node:worker_threads';",
    '/x/dist/src/wire/single.test.js': '',
    '/x/dist/src/top.test.js': '',
    '/x/dist/test/flow/e.test.js': '',
  };
  const files = Object.keys(texts);
  const { groups, apart } = groupsOf(files, (path) => texts[path] ?? '');
  assert.deepEqual(groups, [{ name: 'flow-1', files: [files[0], files[1], files[2]] }]);
  assert.deepEqual(apart, files.slice(3));
  const many = Array.from({ length: 33 }, (_, index) => `/x/dist/src/os/${index}.test.js`);
  const lengths = groupsOf(many, () => '').groups.map((group) => group.files.length);
  assert.deepEqual(lengths, [11, 11, 11]);
});

test('suite: files that share a process count one by one, and a crash is named', (t) => {
  const tests = {
    'os/one': "test('fine', () => {}); test('bad', () => { throw 1; });",
    'os/two': "test('later', () => {});",
    'wire/end': "test('ends', () => { (0, eval)('process').exit(3); });",
    'wire/never': "test('never', () => {});",
  };
  const { status, stdout } = runSuiteOn(t, tests, '');
  assert.equal(status, 1, stdout);
  assert.match(stdout, /\n✖ \S+\/os\/one\.test\.js: bad\n/);
  assert.match(stdout, /✔ later/);
  assert.match(stdout, /\n✖ \S+wire-1\.mjs: /, 'the group that ended');
});

test('node versions: the newest of a major, by number, releases only', () => {
  const versions = ['24.9.0', '24.10.1', '24.10.0', '25.0.0', '24.11.0-rc.1', '2.4.0'];
  assert.equal(newestOf(versions, 24), '24.10.1');
  assert.equal(newestOf(versions, 22), undefined);
});

function runSuiteOn(
  t: TestContext,
  tests: Readonly<Record<string, string>>,
  ci: string,
  more: Readonly<Record<string, string>> = {},
  flags: readonly string[] = [],
) {
  const root = mkdtempSync(join(tmpdir(), 'tcpx-suite-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  writeAt(join(root, 'package.json'), '{ "type": "module" }');
  for (const [name, text] of Object.entries(tests)) {
    writeAt(join(root, `dist/src/${name}.test.js`), HEAD + text);
    if (!name.startsWith('stale')) writeAt(join(root, `src/${name}.test.ts`), '');
  }
  const env = { ...outsideEnvironment(), CI: ci, TEST_FILE_MS_MAX: '2000', ...more };
  const script = join(repositoryRoot, 'dist/scripts/test.js');
  // More at a time than there are cores: most of what is slow here only waits.
  const words = [script, '--root', root, '--concurrency', '4', ...flags];
  return spawnSync(process.execPath, words, { env, encoding: 'utf8', timeout: 30_000 });
}

function writeAt(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

test('suite: files that run in pairs or alone run last, and count in the one summary', (t) => {
  const tests = {
    soak: "test('alone', (t) => { t.skip('needs a GPU'); });",
    watch: "test('alone too', () => {});",
    zebra: "test('bad', () => { throw 1; }); test('skips', (t) => { t.skip('no reason'); });",
  };
  const { status, stdout } = runSuiteOn(t, tests, '');
  assert.equal(status, 1, stdout);
  assert.ok(stdout.indexOf('✖ bad') < stdout.indexOf('✔ alone too'), stdout);
  assert.match(stdout, /tests 4\n.*suites 0\n.*pass 1\n.*fail 1\n.*cancelled 0\n.*skipped 2\n/);
  assert.equal(stdout.match(/^\S tests /gm)?.length, 1, stdout);
  assert.match(stdout, /\n✖ \S+zebra\.test\.js: bad\n/, 'named again at the end');
  assert.match(stdout, /skipped 2:\n {2}\S+zebra\S+ skips: no reason.*\n {2}\S+ alone: needs a/);
});

test('suite: each file that runs alone, in pairs, or waits, is one', () => {
  const sources = sourcePaths(repositoryRoot);
  for (const part of [...ALONE, ...IN_PAIRS, ...WAITING])
    assert.ok(compiledTests(sources, [part]).length > 0, part);
});

test('suite: passes with one closing summary of several files, leaves stale tests alone', (t) => {
  const tests = {
    good: "test('fine', () => {});",
    more: "test('b', () => {}); test('c', () => {});",
    excused: EXCUSED,
    stale: "test('old', () => { throw 1; });",
  };
  const { status, stdout } = runSuiteOn(t, tests, 'true');
  assert.equal(status, 0, stdout);
  assert.equal(stdout.match(/^\S tests /gm)?.length, 1, stdout);
  assert.match(stdout, /tests 4\n.*suites 0\n.*pass 3\n.*fail 0\n.*\n.*skipped 1\n/);
});

test('suite: fails with a failing test, a crash and an import error, each named', (t) => {
  const tests = {
    bad: "test('bad', () => { throw 1; });",
    crash: 'process.exit(3);',
    import: "import './none.js';",
    good: "test('x', () => {});",
  };
  const { status, stdout } = runSuiteOn(t, tests, '');
  assert.equal(status, 1, stdout);
  const named = [...stdout.matchAll(/^✖ \S+\/(\w+)\.test\.js: /gm)].map(([, name]) => name);
  assert.deepEqual(named.sort(), ['bad', 'crash', 'import'], stdout);
});

test('suite: few files that failed run once more alone, and fail where they fail again', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-again-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const once = (name: string) =>
    `import { existsSync, writeFileSync } from 'node:fs';
test('${name}', () => {
  const mark = '${join(folder, name)}';
  if (existsSync(mark)) return;
  writeFileSync(mark, '');
  throw new Error('first time');
});`;
  const good = "test('fine', () => {});";
  const again = ['--again', '1'];
  const mild = runSuiteOn(t, { 'os/shaky': once('a'), 'os/good': good }, 'true', {}, again);
  assert.equal(mild.status, 0, mild.stdout);
  assert.match(mild.stdout, /✖ failed above; once more, .*:\n {2}\S+shaky\.test\.js\n/);
  assert.match(mild.stdout, /fail 1\n[^]*fail 0\n/, 'the first time is not passed over');
  const two = { shaky: once('b'), other: once('c'), good };
  assert.equal(runSuiteOn(t, two, '', {}, again).status, 1, 'more than are allowed');
  const mates = {
    'wire/a': once('d'),
    'wire/end': "test('ends', () => { (0, eval)('process').exit(3); });",
  };
  assert.equal(runSuiteOn(t, mates, '', {}, again).status, 1, 'the process ended behind it');
  const bad = { bad: "test('bad', () => { throw 1; });", good };
  assert.equal(runSuiteOn(t, bad, '', {}, again).status, 1, 'fails again');
  const rows = { 'stale-rows': once('e'), user: "import './stale-rows.test.js';", good };
  const shared = runSuiteOn(t, rows, '', {}, again);
  assert.equal(shared.status, 0, shared.stdout);
  assert.match(shared.stdout, /once more, .*:\n {2}\S+user\.test\.js\n/, 'the file that runs it');
});

test('suite: names skips and their reasons, in CI refuses what hardware does not excuse', (t) => {
  const refused = [
    "test('net', { skip: 'needs root' }, () => {});",
    "test('bare', { skip: true }, () => {});",
    "test('later', (t) => { t.skip('still needs a GPU'); });",
  ].join('\n');
  const mild = runSuiteOn(t, { excused: EXCUSED, refused }, '');
  assert.equal(mild.status, 0, mild.stdout);
  assert.match(mild.stdout, /skipped 4\n/, 'in the closing summary');
  assert.match(mild.stdout, /skipped 4:\n {2}\S+excused\.test\.js: gpu: needs a GPU with peer acc/);
  const strict = runSuiteOn(t, { excused: EXCUSED, refused }, 'true');
  assert.equal(strict.status, 1);
  assert.match(strict.stdout, /\S+refused\.test\.js: net: needs root, which no lack of hardware/);
  assert.match(strict.stdout, /: bare: \(no reason given\), which no lack of hardware excuses\n/);
  assert.match(strict.stdout, /\n3 skips are not allowed where CI=true\n$/);
});

test('suite: a file that does not end is a failure after its time, the others still run', (t) => {
  const tests = {
    busy: 'test("spins", () => { for (;;) Math.sqrt(2); });',
    endless: 'test("hangs", () => new Promise(() => { setInterval(() => {}, 1000); }));',
    good: "test('fine', () => {});",
    open: "test('ends', () => {}); setInterval(() => {}, 1000);",
  };
  const { status, stdout } = runSuiteOn(t, tests, '');
  assert.equal(status, 1, stdout);
  for (const name of ['busy', 'endless', 'open']) {
    assert.match(
      stdout,
      new RegExp(`✖ \\S+/${name}.test.js: killed, because it has not ended after 2`),
    );
  }
  assert.match(stdout, /✔ fine/);
});

test('suite: says what was dear, and fails beyond a limit of CPU time', (t) => {
  const tests = {
    cheap: "test('cheap', () => {});",
    // By CPU time: beside others a while of the clock may hold little of it.
    dear: "test('dear', () => { while (process.cpuUsage().user < 600_000); });",
  };
  const { status, stdout } = runSuiteOn(t, tests, '', {
    TEST_CPU_SECONDS_MAX: '0.5',
    TEST_FILE_MS_MAX: '60000',
  });
  assert.equal(status, 1, stdout);
  const [, seconds, first] = COST.exec(stdout) ?? [];
  assert.ok(Number(seconds) >= 1, stdout);
  assert.match(first ?? '', /\/dear\.test\.js$/);
  assert.match(stdout, /✖ more than TEST_CPU_SECONDS_MAX=0\.5\n$/);
});

test('suite: nothing to run is a failure', (t) => {
  assert.equal(runSuiteOn(t, {}, '').status, 2);
});
