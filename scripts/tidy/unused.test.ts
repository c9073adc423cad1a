// The checks that look at the tree as a whole: what nobody uses, and the ratchet.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkRatchetShrinks,
  checkRatchetTight,
  type Ratchet,
  readRatchet,
  shrinkRatchet,
} from './ratchet.js';
import { checkUnused, measureUnused } from './unused.js';

const NONE = readRatchet(undefined);
const DECLARED = { settings: ['flow.a', 'flow.b'], errorCodes: ['ERR_A', 'ERR_B'] };

function ratchetWith(part: Partial<Ratchet>): Ratchet {
  return { ...NONE, ...part };
}

test('unused: a file that nobody but its own test imports is reported', () => {
  const files = [
    { path: 'src/flow/a.ts', text: '' },
    { path: 'src/flow/a.test.ts', text: "import './a.js';" },
    { path: 'src/flow/b.ts', text: '' },
    { path: 'test/sim/x.test.ts', text: "import '../../src/flow/b.js';" },
  ];
  assert.deepEqual(measureUnused(files, DECLARED).unimported, ['src/flow/a.ts']);
});

test('unused: entry points and files that a worker is started from are used', () => {
  const files = [
    { path: 'src/index.ts', text: '' },
    { path: 'src/internal.ts', text: '' },
    { path: 'src/cli/main.ts', text: '' },
    { path: 'src/lane/lane-worker.ts', text: '' },
    { path: 'src/transport/tcpx/child-main.ts', text: "new URL('./entry.js', import.meta.url)" },
    { path: 'src/transport/tcpx/entry.ts', text: '' },
  ];
  assert.deepEqual(measureUnused(files, DECLARED).unimported, []);
});

test('unused: a setting counts as used where it is read, not where a command lists it', () => {
  const text =
    "const command = { settings: ['flow.a'] };\nconst x = values['flow.b'];\n" +
    "const SHARED_SETTINGS = ['flow.a'];\n";
  const unused = measureUnused([{ path: 'src/cli/a.ts', text }], DECLARED);
  assert.deepEqual(unused.unusedSettings, ['flow.a']);
});

test('unused: an error code is used where it is raised, not where compared or tested', () => {
  const files = [
    { path: 'src/base/errors.ts', text: "const x = 'ERR_A';" },
    { path: 'src/flow/a.test.ts', text: "raise('ERR_A');" },
    { path: 'src/flow/a.ts', text: "if (code === 'ERR_A') raise('ERR_B');" },
  ];
  assert.deepEqual(measureUnused(files, DECLARED).unusedErrorCodes, ['ERR_A']);
});

test('unused: what the ratchet lists is not reported, the rest with the declaring line', () => {
  const files = [
    { path: 'src/base/settings.ts', text: "//\n'flow.a': {},\n'flow.b': {}," },
    { path: 'src/index.ts', text: "import './base/settings.js'; raise('ERR_A', 'ERR_B');" },
  ];
  const ratchet = ratchetWith({ unusedSettings: ['flow.a'] });
  assert.deepEqual(
    checkUnused(files, DECLARED, ratchet).map(({ path, line, rule }) => [path, line, rule]),
    [['src/base/settings.ts', 3, 'unused-setting']],
  );
});

test('ratchet: an entry that is higher than the tree needs is reported and shrunk', () => {
  const ratchet = ratchetWith({ files: { 'a.ts': 500, 'b.ts': 450 }, unimported: ['c.ts'] });
  const measured = ratchetWith({ files: { 'a.ts': 480 } });
  const messages = checkRatchetTight(ratchet, measured).map(({ message }) => message);
  assert.equal(messages.length, 3);
  assert.match(messages[0] ?? '', /lower a\.ts from 500 to 480/);
  assert.match(messages[1] ?? '', /remove b\.ts/);
  const shrunk = shrinkRatchet(ratchet, measured);
  assert.deepEqual(shrunk, measured);
  assert.deepEqual(checkRatchetTight(shrunk, measured), []);
});

test('ratchet: shrinking never adds or raises an entry', () => {
  const measured = ratchetWith({ files: { 'a.ts': 600, 'b.ts': 500 }, unimported: ['c.ts'] });
  const shrunk = shrinkRatchet(ratchetWith({ files: { 'a.ts': 450 } }), measured);
  assert.deepEqual(shrunk, ratchetWith({ files: { 'a.ts': 450 } }));
});

test('ratchet: an entry that appeared or rose since the last commit is refused', () => {
  const previous = ratchetWith({ files: { 'a.ts': 450 }, unimported: ['c.ts'] });
  const grown = ratchetWith({ files: { 'a.ts': 451, 'b.ts': 401 }, unimported: ['c.ts', 'd.ts'] });
  assert.equal(checkRatchetShrinks(grown, previous).length, 3);
  assert.deepEqual(checkRatchetShrinks(previous, previous), []);
});
