// What tidy and knip say of things that nobody uses.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { repositoryRoot } from '../repository.js';
import { checkUnused } from './unused.js';

const DECLARED = { settings: ['flow.a', 'flow.b'], errorCodes: ['ERR_A', 'ERR_B'] };
const NOTHING = { settings: [], errorCodes: [] };

function messagesOf(files: Parameters<typeof checkUnused>[0], declared = DECLARED): string[] {
  return checkUnused(files, declared).map(
    ({ rule, message }) => `${rule} ${message.split(' ')[0]}`,
  );
}

test('unused: a setting counts as used where it is read, not where a command lists it', () => {
  const text =
    "const command = { settings: ['flow.a'] };\nconst x = values['flow.b'];\n" +
    "const SHARED_SETTINGS = ['flow.a'];\nraise('ERR_A', 'ERR_B')";
  assert.deepEqual(messagesOf([{ path: 'src/cli/a.ts', text }]), ['unused-setting flow.a']);
});

test('unused: an error code is used where it is raised, not where compared or tested', () => {
  const files = [
    { path: 'src/base/errors.ts', text: "const x = 'ERR_A';" },
    { path: 'src/flow/a.test.ts', text: "raise('ERR_A');" },
    { path: 'src/flow/a.ts', text: "if (code === 'ERR_A') raise('ERR_B', v['flow.a'], 'flow.b');" },
  ];
  assert.deepEqual(messagesOf(files), ['unused-code ERR_A']);
});

test('unused: a violation names the declaring line', () => {
  const files = [
    { path: 'src/base/settings.ts', text: "//\n'flow.a': {},\n'flow.b': {}," },
    { path: 'src/index.ts', text: "raise('ERR_A', 'ERR_B', values['flow.a']);" },
  ];
  assert.deepEqual(
    checkUnused(files, DECLARED).map(({ path, line, rule }) => [path, line, rule]),
    [['src/base/settings.ts', 3, 'unused-setting']],
  );
});

test('unused: a member of a class is used where its name stands elsewhere, by whatever way', () => {
  const text = [
    'export class A {',
    '  dead = 1; read = 2; asked = 3; promised = 5; #own = 4;',
    '  method() { return this.#own; }',
    '  get gone() { return 1; }',
    '}',
    'interface B { asked: number }',
    'use(new A().read, a?.method());',
  ].join('\n');
  const files = [
    { path: 'src/a.ts', text },
    { path: 'src/b.ts', text: 'class C { gone = 2 }' },
    { path: 'src/c.test.ts', text: 'class StandIn { setKeepAlive() {} }' },
    { path: 'docs/api.md', text: '| `promised` | for users |' },
  ];
  const dead = ['dead', 'gone', 'gone'].map((name) => `unused-member ${name}`);
  assert.deepEqual(messagesOf(files, NOTHING), dead);
});

function knipOn(t: TestContext, files: Readonly<Record<string, string>>, words: readonly string[]) {
  const root = mkdtempSync(join(tmpdir(), 'tcpx-knip-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  mkdirSync(join(root, 'src'));
  writeFileSync(join(root, 'package.json'), '{ "name": "x", "type": "module" }');
  copyFileSync(join(repositoryRoot, 'knip.json'), join(root, 'knip.json'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, 'src', name), text);
  const knip = join(repositoryRoot, 'node_modules/knip/bin/knip.js');
  const all = [knip, '--directory', root, '--no-config-hints', ...words];
  return spawnSync(process.execPath, all, { encoding: 'utf8', timeout: 30_000 });
}

test('knip: an export that nobody imports, and a member that nobody names', (t) => {
  const { status, stdout } = knipOn(
    t,
    {
      'index.ts': "import { used, Colour } from './a.js';\nconsole.log(used, Colour.Red);\n",
      'a.ts':
        'export const used = 1;\nexport const dead = 2;\n' +
        'export enum Colour { Red, Green }\nexport interface Gone { x: 1 }\n',
    },
    [],
  );
  assert.equal(status, 1, stdout);
  assert.match(stdout, /^dead +src\/a\.ts:2/m);
  assert.match(stdout, /^Green +Colour +src\/a\.ts:3/m);
  assert.match(stdout, /^Gone +interface +src\/a\.ts:4/m);
  assert.doesNotMatch(stdout, /^(used|Red)/m);
});

test('knip: a file that nobody but its own test imports', (t) => {
  const files = {
    'index.ts': 'export const x = 1;\n',
    'a.ts': 'export const y = 1;\n',
    'a.test.ts': "import { y } from './a.js';\nconsole.log(y);\n",
  };
  const { status, stdout } = knipOn(t, files, ['--production', '--include', 'files']);
  assert.equal(status, 1, stdout);
  assert.match(stdout, /^src\/a\.ts/m);
  assert.doesNotMatch(stdout, /index|a\.test/);
});
