// Building the NIXL plugin: what it says without headers, what it finds, what goes into a checkout.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { repositoryRoot } from '../repository.js';
import { findNixlHeaders } from './nixl-headers.js';
import { callPlugin, namePlugin } from './nixl-tree.js';

const folder = mkdtempSync(join(tmpdir(), 'tcpx-nixl-'));
after(() => rmSync(folder, { recursive: true }));

function build(...words: string[]) {
  return spawnSync(process.execPath, ['dist/scripts/build-nixl-plugin.js', ...words], {
    cwd: repositoryRoot,
    encoding: 'utf8',
  });
}

/** A folder that looks like a checkout of NIXL. */
function makeCheckout(name: string): string {
  const tree = join(folder, name);
  mkdirSync(join(tree, 'src/api/cpp/backend'), { recursive: true });
  mkdirSync(join(tree, 'src/plugins'));
  writeFileSync(join(tree, 'src/api/cpp/backend/backend_plugin.h'), '');
  writeFileSync(join(tree, 'src/plugins/meson.build'), "subdir('other')\n");
  const recipe = "project('nixl', 'CPP', version: '1.4.0')\nall_plugins = ['UCX', 'OBJ']\n";
  writeFileSync(join(tree, 'meson.build'), recipe);
  return tree;
}

test('nixl plugin build: without headers it says what is needed and how to get it', () => {
  const none = build();
  assert.equal(none.status, 2);
  assert.match(none.stderr, /headers are needed: --nixl\n.*PREFIX/);
  const wrong = build('--nixl', folder);
  assert.equal(wrong.status, 2);
  assert.match(wrong.stderr, /no include\/backend\/backend_plugin\.h below it\. Name the folder/);
  const tree = build('--tree', folder);
  assert.equal(tree.status, 2);
  assert.match(tree.stderr, /no checkout of NIXL/);
});

test('nixl plugin build: a prefix with headers gives the file that NIXL loads', (t) => {
  if (spawnSync(process.env['CXX'] ?? 'c++', ['--version']).status !== 0) {
    t.skip('needs a C++ compiler');
    return;
  }
  const prefix = join(folder, 'prefix');
  mkdirSync(join(prefix, 'lib/pkgconfig'), { recursive: true });
  symlinkSync(join(repositoryRoot, 'native/nixl/interface'), join(prefix, 'include'));
  writeFileSync(join(prefix, 'lib/pkgconfig/nixl.pc'), 'Name: nixl\nVersion: 9.9.9\n');
  const output = join(folder, 'output');
  const { status, stdout, stderr } = build('--nixl', prefix, '--output', output);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /libplugin_TCPX\.so is for NIXL 9\.9\.9: .*NIXL_PLUGIN_DIR=/);
  const file = join(output, 'libplugin_TCPX.so');
  const shown = spawnSync('nm', ['-D', '--defined-only', file], { encoding: 'utf8' }).stdout;
  assert.match(shown, / nixl_plugin_init$/m);
});

test('nixl plugin build: headers of a prefix and of a checkout', () => {
  const tree = makeCheckout('headers');
  const found = findNixlHeaders(tree);
  assert.equal(found?.version, '1.4.0');
  assert.ok(found.includes.includes(join(tree, 'src/api/cpp')));
  assert.equal(findNixlHeaders(join(folder, 'nowhere')), undefined);
});

test('nixl plugin build: a checkout gets the sources, the library and two names, once', () => {
  const tree = makeCheckout('tree');
  for (let round = 0; round < 2; round++) {
    const { status, stderr } = build('--tree', tree);
    assert.equal(status, 0, stderr);
  }
  const recipe = readFileSync(join(tree, 'meson.build'), 'utf8');
  assert.match(recipe, /^all_plugins = \['UCX', 'OBJ', 'TCPX'\]$/m);
  const plugins = readFileSync(join(tree, 'src/plugins/meson.build'), 'utf8');
  assert.equal(plugins.split("subdir('tcpx')").length, 2);
  for (const name of [
    'meson.build',
    'README.md',
    'libtcpx_p2p.a',
    'tcpx_p2p.h',
    'symbols.version',
  ]) {
    assert.ok(existsSync(join(tree, 'src/plugins/tcpx', name)), name);
  }
});

test('nixl plugin build: recipes are changed where they can be, and told from others', () => {
  assert.equal(namePlugin('nothing'), undefined);
  const named = namePlugin("all_plugins = ['UCX']\n") ?? '';
  assert.equal(namePlugin(named), named);
  assert.equal(callPlugin(callPlugin('')), callPlugin(''));
});

test('nixl plugin build: the meson recipe names every source', () => {
  const sources = readdirSync(join(repositoryRoot, 'native/nixl'));
  const recipe = readFileSync(join(repositoryRoot, 'native/nixl/meson/meson.build'), 'utf8');
  const named = [...recipe.matchAll(/'(\w+\.cpp)'/g)].map(([, name]) => name);
  assert.deepEqual(named.sort(), sources.filter((name) => name.endsWith('.cpp')).sort());
});
