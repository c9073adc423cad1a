import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLOSED_LAYERS, LAYERS } from '../layers.js';
import { checkLayers, checkLayerTable } from './layers.js';
import type { TextFile } from './violation.js';

const RULES = { layers: LAYERS, closedLayers: CLOSED_LAYERS };

function found(files: Readonly<Record<string, string>>): string[] {
  const list: TextFile[] = Object.entries(files).map(([path, text]) => ({ path, text }));
  return checkLayers(list, RULES).map(({ path, line, rule }) => `${path}:${line}:${rule}`);
}

test('layers: an import that the matrix allows passes', () => {
  const text = "import { x } from '../base/x.js';\nimport { y } from './y.js';\n";
  assert.deepEqual(found({ 'src/flow/a.ts': text }), []);
});

test('layers: an import that the matrix forbids is named with its line', () => {
  const text = "// why\nimport { x } from '../engine/x.js';\n";
  assert.deepEqual(found({ 'src/flow/a.ts': text }), ['src/flow/a.ts:2:layer']);
});

test('layers: type imports, re-exports, dynamic imports and workers count', () => {
  const uses = [
    "import type { X } from '../engine/x.js';",
    "export { x } from '../engine/x.js';",
    "export const x = await import('../engine/x.js');",
    "let x: import('../engine/x.js').X;",
    "new Worker(new URL('../engine/x-worker.js', import.meta.url));",
  ];
  for (const text of uses) assert.equal(found({ 'src/wire/a.ts': text }).length, 1, text);
});

test('layers: an import in a comment or a string does not count', () => {
  const text = "// import '../engine/x.js'\nconst a = \"import '../engine/x.js'\";\n";
  assert.deepEqual(found({ 'src/flow/a.ts': text }), []);
});

test('layers: closed layers are for tests only, even where everything is allowed', () => {
  const text = "import '../cli/x.js';\n";
  assert.equal(found({ 'src/bench/a.ts': text }).length, 1);
  assert.deepEqual(
    found({ 'src/bench/a.test.ts': text, 'test/e2e/a.ts': "import '../../src/cli/x.js';" }),
    [],
  );
});

test('layers: providers do not import each other, but their common files', () => {
  const path = 'src/provider/tcp/a.ts';
  assert.equal(found({ [path]: "import '../tcpx/x.js';\n" }).length, 1);
  assert.deepEqual(found({ [path]: "import '../provider.js';\nimport './x.js';\n" }), []);
});

test('layers: koffi is for src/ffi alone, tests and scripts included', () => {
  const text = "import koffi from 'koffi';\n";
  assert.deepEqual(found({ 'src/ffi/libc/a.ts': text }), []);
  for (const path of ['src/memory/a.ts', 'src/memory/a.test.ts', 'scripts/a.ts']) {
    assert.equal(found({ [path]: text }).length, 1, path);
  }
});

test('layers: folders that import each other are a cycle, named at each import', () => {
  const rules = {
    layers: {
      one: { purpose: '', mayImport: ['*'] },
      two: { purpose: '', mayImport: ['*'] },
      three: { purpose: '', mayImport: ['*'] },
    },
    closedLayers: [],
  };
  const files = [
    { path: 'src/one/a.ts', text: "import type { X } from '../two/a.js';\n" },
    { path: 'src/two/a.ts', text: "import '../three/a.js';\n" },
    { path: 'src/three/a.ts', text: "import '../one/b.js';\n" },
  ];
  assert.deepEqual(
    checkLayers(files, rules).map(({ path, rule }) => `${path} ${rule}`),
    ['src/one/a.ts cycle', 'src/two/a.ts cycle', 'src/three/a.ts cycle'],
  );
  assert.deepEqual(checkLayers(files.slice(0, 2), rules), []);
});

test('layers: a refused import is reported once and makes no cycle of lawful ones', () => {
  const files = {
    'src/base/a.ts': "import '../flow/a.js';\n",
    'src/flow/a.ts': "import '../base/a.js';\n",
  };
  assert.deepEqual(found(files), ['src/base/a.ts:1:layer']);
});

test('layers: an undeclared folder, an entry point and anything outside src are refused', () => {
  assert.equal(found({ 'src/misc/a.ts': '' }).length, 1);
  assert.equal(found({ 'src/engine/a.ts': "import '../index.js';\n" }).length, 1);
  assert.equal(found({ 'src/engine/a.ts': "import '../layers.js';\n" }).length, 1);
  assert.equal(found({ 'src/engine/a.ts': "import './b.test.js';\n" }).length, 1);
  assert.deepEqual(found({ 'src/internal.ts': "import './engine/a.js';\n" }), []);
});

test('layers: the declared matrix names known layers and has no cycle', () => {
  for (const [name, { mayImport }] of Object.entries(LAYERS)) {
    for (const other of mayImport) assert.ok(other === '*' || other in LAYERS, `${name}: ${other}`);
  }
  const reach = (from: string, seen = new Set<string>()): Set<string> => {
    for (const next of LAYERS[from]?.mayImport ?? []) {
      if (next === '*' || seen.has(next)) continue;
      reach(next, seen.add(next));
    }
    return seen;
  };
  for (const name of Object.keys(LAYERS))
    assert.ok(!reach(name).has(name), `${name} is in a cycle`);
});

test('layers: the table has no folder that is not there and no grant that nobody uses', () => {
  const layers = {
    one: { purpose: '', mayImport: ['two', 'gone'] },
    two: { purpose: '', mayImport: [] },
    gone: { purpose: '', mayImport: [] },
  };
  const files = [
    { path: 'src/one/a.ts', text: "import '../two/b.js';" },
    { path: 'src/two/b.ts', text: '' },
  ];
  const messages = checkLayerTable(files, { layers, closedLayers: [] }).map((one) => one.message);
  assert.deepEqual(messages, [
    'src/one imports nothing of src/gone; take the grant back',
    'src/gone does not exist',
  ]);
});
