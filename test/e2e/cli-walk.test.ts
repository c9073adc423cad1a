// Every command of the table, walked: help, a result for people in 60 columns, a result as JSON, a
// failure as JSON, and a reader that goes away; all without a terminal. And what a terminal gets.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { COMMANDS } from '../../src/cli/commands.js';
import type { ErrorDocument } from '../../src/cli/error-document.js';
import { askTcpx, type ChildResult, packageRoot, runChild, runTcpx } from './child.js';
import { type WalkCase, WalkWorld } from './cli-walk-cases.js';

const COLUMNS = 60;
/** What a server says when it is ready, for people and for programs. */
const ANNOUNCED = /\bbench client .*\n|^serving at .*\n|tcpx\.serve[^]*\}\n/;
/** One service has a folder at a time, and one apply the interrupts of a host. */
const ONE_AT_A_TIME = ['serve', 'irq apply'];
const world = new WalkWorld();
let cases: Readonly<Record<string, WalkCase>> = {};

before(async () => {
  cases = await world.open();
});
after(() => world.close());

function wordsOf(name: string, extra: readonly string[]): string[] {
  const { words, rest } = caseOf(name);
  return [...name.split(' '), ...words, ...extra, ...(rest === undefined ? [] : ['--', ...rest])];
}

function caseOf(name: string): WalkCase {
  const found = cases[name];
  assert.ok(found !== undefined, `${name}: give it a case in cli-walk-cases.ts`);
  return found;
}

function environment(variables: Readonly<Record<string, string>> = {}): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(NIXL_|UCCL_|NCCL_|COLUMNS$|NO_COLOR$|FORCE_COLOR$|CI$)/.test(name),
  );
  const kept = { NIXL_TCPX_BENCH_STORE_DIR: world.store };
  return { ...(Object.fromEntries(inherited) as Record<string, string>), ...kept, ...variables };
}

/** A child in a session of its own, so without any terminal; a server is interrupted. */
function run(name: string, extra: readonly string[], columns: string): Promise<ChildResult> {
  const one = caseOf(name);
  const child = spawn(process.execPath, ['bin/tcpx.js', ...wordsOf(name, extra)], {
    cwd: packageRoot,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment({ ...one.environment, COLUMNS: columns }),
    timeout: 60_000,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (one.isServer === true && ANNOUNCED.test(stdout)) child.kill('SIGINT');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
}

function assertFits(text: string, name: string): void {
  const wide = text.split('\n').filter((line) => line.length > COLUMNS);
  assert.deepEqual(wide, [], `${name}: wider than ${COLUMNS} columns`);
}

for (const { name, examples } of COMMANDS) {
  describe(`walk: tcpx ${name}`, { concurrency: ONE_AT_A_TIME.includes(name) ? 1 : 2 }, () => {
    test('--help: usage, two examples, flags with a kind of value, within 60 columns', () => {
      const { exitCode, stdout, stderr } = askTcpx([...name.split(' '), '--help'], {
        COLUMNS: String(COLUMNS),
      });
      assert.equal(exitCode, 0, stderr);
      assert.match(stdout, new RegExp(`^tcpx ${name}`));
      assert.ok(examples.length >= 2);
      assert.match(stdout, /^Examples\n {2}tcpx /m);
      assert.doesNotMatch(stdout, /--\S+ (TEXT|VALUE)\b/);
      assertFits(stdout, name);
    });

    test('a result for people: on stdout, within 60 columns', async () => {
      const { exitCode, stdout, stderr } = await run(name, [], String(COLUMNS));
      assert.equal(exitCode, caseOf(name).exitCode ?? 0, stderr);
      assert.notEqual(stdout.trim(), '');
      assertFits(stderr, name);
      if (caseOf(name).isCode !== true) assertFits(stdout, name);
      assert.doesNotMatch(stdout, /\u001b/, 'no colours in a pipe');
    });

    test('--json: one document with its schema on stdout, nothing else', async () => {
      const { exitCode, stdout, stderr } = await run(name, ['--json'], '');
      assert.equal(exitCode, caseOf(name).exitCode ?? 0, stderr);
      const documents = caseOf(name).hasLines === true ? stdout.trim().split('\n') : [stdout];
      for (const text of documents) {
        const document = JSON.parse(text) as { schema?: string };
        assert.match(document.schema ?? '', /^tcpx\.[a-z-]+\/\d+$/);
      }
    });

    test('--json: a failure is a document too, beside the line on stderr', () => {
      const { exitCode, stdout, stderr } = askTcpx(wordsOf(name, ['--json', '--no-such-flag']));
      assert.equal(exitCode, 2);
      const { schema, ok, error } = JSON.parse(stdout) as ErrorDocument;
      assert.equal(schema, 'tcpx.error/1');
      assert.equal(ok, false);
      assert.equal(error.code, 'ERR_USAGE_ARGUMENT');
      assert.match(error.message, /--no-such-flag/);
      assert.equal(stderr, `${error.code}: ${error.message}\n`);
    });

    test('a reader that has gone: the command ends as ever, without a word about it', async () => {
      if (caseOf(name).isServer === true) return assertServesOn(name);
      const line = ['bin/tcpx.js', ...wordsOf(name, [])].map((word) => `'${word}'`).join(' ');
      const script = `'${process.execPath}' ${line} | true; exit \${PIPESTATUS[0]}`;
      const env = environment(caseOf(name).environment);
      const { exitCode, stderr } = await runChild('bash', ['-c', script], { env });
      assert.equal(exitCode, caseOf(name).exitCode ?? 0, stderr);
      assert.doesNotMatch(stderr, /EPIPE|\n\s+at /);
    });
  });
}

/** A server is there for its clients, whoever reads what it says. */
async function assertServesOn(name: string): Promise<void> {
  const line = ['bin/tcpx.js', ...wordsOf(name, [])].join(' ');
  const script = `timeout -s INT 3 '${process.execPath}' ${line} | true; exit \${PIPESTATUS[0]}`;
  const { exitCode, stderr } = await runChild('bash', ['-c', script], { env: environment() });
  assert.equal(exitCode, 124, 'it ran until it was interrupted');
  assert.doesNotMatch(stderr, /EPIPE|\n\s+at /);
}

test('walk: every command has a case, and no case is left over', () => {
  assert.deepEqual(Object.keys(cases).sort(), COMMANDS.map(({ name }) => name).sort());
});

test('walk: failures at run time are the same kind of document', async () => {
  const failures: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['bench', 'client', '127.0.0.1', '--port', '1', '--connect-timeout', '100', '-J'], 4, /^ERR_/],
    [['nosuch', '--json'], 2, /^ERR_USAGE_COMMAND$/],
    [['topo', '--root', '/nowhere', '--json'], 2, /^ERR_/],
    [['config', '--size', '0', '--json'], 2, /^ERR_CONFIG_VALUE$/],
  ];
  for (const [words, status, code] of failures) {
    const { exitCode, stdout, stderr } = await runTcpx(words);
    assert.equal(exitCode, status, stderr);
    const { schema, error, ...document } = JSON.parse(stdout) as ErrorDocument;
    assert.equal(schema, 'tcpx.error/1');
    assert.equal(document.exitCode, status);
    assert.match(error.code, code);
  }
});

/** As a person in a terminal of 60 columns sees it. */
async function inTerminal(words: string, variables: Readonly<Record<string, string>> = {}) {
  const line = `stty cols ${COLUMNS} rows 24; '${process.execPath}' bin/tcpx.js ${words}`;
  const env = environment({ TERM: 'xterm-256color', ...variables });
  const { stdout } = await runChild('script', ['-qec', line, '/dev/null'], { env });
  return stdout.replaceAll('\r', '');
}

test('walk: a terminal gets its width and colours; NO_COLOR is obeyed', async () => {
  const escape = /\u001b\[[0-9;]*m/g;
  const coloured = await inTerminal('bench --help; tcpx=1');
  assert.match(coloured, /\u001b\[1mExamples\u001b\[22m/);
  assertFits(coloured.replaceAll(escape, ''), 'bench');
  const error = await inTerminal('config --size 0');
  assert.match(error, /\u001b\[31mERR_CONFIG_VALUE\u001b\[39m: /);
  assertFits(error.replaceAll(escape, ''), 'config');
  const plain = await inTerminal('config --size 0', { NO_COLOR: '1' });
  assert.doesNotMatch(plain, escape);
  assert.match(plain, /^ERR_CONFIG_VALUE: /);
});
