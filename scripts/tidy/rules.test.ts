// The checks that look at one file at a time: width, banned calls, leftovers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkBannedCalls } from './banned-calls.js';
import { checkFileBytes, checkForeignPaths, checkUnfinished } from './leftovers.js';
import { checkLineWidth } from './line-width.js';
import { formatViolation } from './violation.js';

test('violation: is printed as path, line, rule, message', () => {
  const violation = { path: 'src/a.ts', line: 3, rule: 'width', message: 'too wide' };
  assert.equal(formatViolation(violation), 'src/a.ts:3: width: too wide');
});

test('width: 100 columns pass and 101 do not, counted in characters', () => {
  const text = `${'x'.repeat(100)}\n${'µ'.repeat(100)}\n${'x'.repeat(101)}\n`;
  assert.deepEqual(
    checkLineWidth([{ path: 'src/a.ts', text }]).map(({ line }) => line),
    [3],
  );
  assert.deepEqual(checkLineWidth([{ path: 'docs/a.md', text }]), []);
});

test('banned: each call is refused in its folders and the replacement is named', () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['src/provider/tcp/lane/a.ts', 'Buffer.concat([a]);', /slot/],
    ['src/flow/a.ts', 'setTimeout(f, 1);', /argument/],
    ['src/wire/a.ts', 'globalThis.setTimeout(f, 1);', /argument/],
    ['src/provider/tcp/lane/a.ts', 'setTimeout(f, 1);', /argument/],
    ['src/host/a.ts', 'const x = Math.random();', /seededRandom/],
    ['src/host/a.test.ts', 'const f = Math.random;', /seededRandom/],
    ['src/host/a.ts', "console.log('x');", /base\/log/],
    ['src/host/a.ts', 'JSON.parse(text);', /checked:/],
  ];
  for (const [path, text, replacement] of cases) {
    const [violation, ...more] = checkBannedCalls([{ path, text }]);
    assert.match(violation?.message ?? '', replacement, `${path}: ${text}`);
    assert.deepEqual(more, [], text);
  }
});

test('banned: other folders, comments, strings and lifted lines pass', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['src/engine/a.ts', 'Buffer.concat([a]); setTimeout(f, 1);'],
    ['src/flow/a.test.ts', 'setTimeout(f, 1);'],
    ['src/host/a.ts', "// Math.random()\nconst a = 'console.log';"],
    ['src/host/a.ts', '// checked: readDocument\nJSON.parse(text);'],
    ['src/host/a.ts', 'readDocument(JSON.parse(text)); // checked: readDocument'],
    ['scripts/a.ts', 'JSON.parse(text); Math.random();'],
  ];
  for (const [path, text] of cases) assert.deepEqual(checkBannedCalls([{ path, text }]), [], text);
});

test('leftovers: marks of unfinished work are found, words that contain them are not', () => {
  const mark = ['TO', 'DO'].join('');
  const text = `a\n// ${mark}: later\nmkdtemp('x-XXXXXX') ${mark}S\n`;
  assert.deepEqual(
    checkUnfinished([{ path: 'src/a.ts', text }]).map(({ line }) => line),
    [2],
  );
});

test('leftovers: paths of a machine are found, relative ones and addresses are not', () => {
  const work = ['', 'work', 'main'].join('/');
  const shared = ['..', 'shared', 'x.md'].join('/');
  const bad = [`see ${work}`, `"${work}/a"`, `(${shared})`, 'cd /home/me/src/tree && make'];
  for (const text of bad) {
    const found = checkForeignPaths([{ path: 'a.md', text }], '/home/me/src/tree/');
    assert.equal(found.length, 1, text);
  }
  const good = [
    `https://example.org${work}`,
    `net${work}`,
    `from '${['..', 'shared-layout.js'].join('/')}'`,
    '/home/me',
  ];
  for (const text of good) {
    assert.deepEqual(checkForeignPaths([{ path: 'a.md', text }], '/home/me/src/tree/'), [], text);
  }
});

test('leftovers: a file over 512 KiB is refused', () => {
  const file = (bytes: number) => [{ path: 'a.bin', text: '', bytes }];
  assert.deepEqual(checkFileBytes(file(512 * 1024)), []);
  assert.equal(checkFileBytes(file(512 * 1024 + 1)).length, 1);
});
