// How scripts answer words that they do not know: with a line, never with a stack.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from './repository.js';
import { parseWords } from './words.js';

const SCRIPTS = [
  'bench-agent',
  'bench-gpu',
  'bench-micro',
  'bench-tcpx',
  'faults',
  'fuzz',
  'incast',
  'perf',
  'sim',
  'test',
  'test-node',
] as const;

function run(script: string, words: readonly string[]) {
  const path = join(repositoryRoot, 'dist', 'scripts', `${script}.js`);
  return spawnSync(process.execPath, [path, ...words], { encoding: 'utf8', timeout: 20_000 });
}

test('words: flags and names as declared', () => {
  const options = { rounds: { type: 'string', default: '5' } } as const;
  const parsed = parseWords(['a', '--rounds', '3'], 'usage', { options, allowPositionals: true });
  assert.ok(!('exitCode' in parsed));
  assert.deepEqual([parsed.values.rounds, parsed.positionals], ['3', ['a']]);
});

test('words: help comes first, whatever else is there', () => {
  const end = parseWords(['--nonsense', '--help'], 'usage', { options: {} });
  assert.deepEqual(end, { exitCode: 0, text: 'usage' });
});

for (const script of SCRIPTS) {
  test(`words: ${script} says how it is called, and what it does not know`, () => {
    const help = run(script, ['--help']);
    assert.equal(help.status, 0, help.stderr);
    assert.match(help.stdout, /^(npm|node) .+/);
    const wrong = run(script, ['--nonsense']);
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, /'--nonsense'/);
    assert.doesNotMatch(wrong.stderr, /^ {4}at /m);
    assert.equal(wrong.stdout, '');
  });
}

test('words: a number that is none, and a name that nothing has, run nothing', () => {
  for (const [script, ...words] of [
    ['bench-agent', '--rounds', 'x'],
    ['bench-micro', '--rounds', '0'],
    ['bench-tcpx', '1.5'],
    ['bench-tcpx', '1', 'no such case'],
    ['bench-gpu', '--only', 'nothing'],
    ['bench-gpu', '--tune', '--only', 'nothing'],
    ['faults', '--rounds', '-1'],
    ['faults', 'reset', 'no such fault'],
    ['fuzz', '--seed', 'x'],
    ['incast', '--seconds', 'soon'],
    ['incast', '0'],
    ['incast', '--quiet', '8'],
    ['incast', '--runs', '8'],
    ['perf', '--rounds', '0'],
    ['perf', 'no such group'],
    ['sim', '--seeds', '0'],
    ['test', 'no such test'],
    ['test-node', '--major', 'x'],
    ['test-node', '--major', '21'],
  ] as const) {
    const { status, stdout, stderr } = run(script, words);
    assert.equal(status, 2, `${script} ${words.join(' ')}: ${stderr}`);
    assert.equal(stdout, '', script);
  }
});
