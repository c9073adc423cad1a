// The C library as an installed package makes it: sources there, nothing built.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { withCode } from '../../test/support/expect-error.js';
import { p2pFiles } from './p2p-library.js';

const checkout = fileURLToPath(new URL('../../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'tcpx-p2p-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const root = join(folder, 'app');
mkdirSync(root);
for (const name of ['native', 'include']) symlinkSync(join(checkout, name), join(root, name));

test('p2p library: what the package carries is enough to compile it, and it is done once', () => {
  // As fast a compilation as there is: that all sources and headers are named is what counts.
  const compiler = join(folder, 'cc');
  writeFileSync(compiler, '#!/bin/sh\nexec cc -O0 "$@" -O0\n', { mode: 0o755 });
  const environment = { XDG_CACHE_HOME: folder, PATH: process.env['PATH'], CC: compiler };
  let compiled = 0;
  const places = { root, environment, version: '1.2.3', onCompile: () => compiled++ };
  const { library, header, module } = p2pFiles(places);
  assert.match(library, /nixl-tcpx\/libtcpx_p2p-[0-9a-f]{16}\.so$/);
  assert.ok(readFileSync(library).includes('1.2.3\0'), 'it says which version it is');
  assert.match(readFileSync(header, 'utf8'), /tcpx_open/);
  assert.equal(module, join(root, 'python/tcpx_p2p.py'));
  assert.equal(p2pFiles(places).library, library);
  assert.equal(compiled, 1);
});

test('p2p library: without a compiler the refusal says what is missing', () => {
  const environment = { XDG_CACHE_HOME: folder, CC: 'no-such-compiler' };
  assert.throws(
    () => p2pFiles({ root, environment, version: '1.2.3' }),
    withCode('ERR_CAP_MISSING_TOOL', /libtcpx_p2p.so cannot be built: no C compiler.*install one/),
  );
});

test('p2p library: one that is built is taken, in a checkout and in a bundle', () => {
  const environment = { CC: 'no-such-compiler' };
  const places = { root, environment, version: '1.2.3' };
  for (const place of ['../lib', 'build/native']) {
    mkdirSync(join(root, place), { recursive: true });
    writeFileSync(join(root, place, 'libtcpx_p2p.so'), '');
    assert.equal(p2pFiles(places).library, join(root, place, 'libtcpx_p2p.so'));
  }
  // A bundle has the module beside the app, and the header too.
  mkdirSync(join(folder, 'python'));
  writeFileSync(join(folder, 'python/tcpx_p2p.py'), '');
  assert.equal(p2pFiles(places).module, join(folder, 'python/tcpx_p2p.py'));
});

test('p2p library: its sources, its header and its module are in the package', () => {
  const manifest = readFileSync(join(checkout, 'package.json'), 'utf8');
  const { files } = JSON.parse(manifest) as { files: string[] };
  for (const path of ['native/p2p', 'include', 'python/tcpx_p2p.py']) {
    assert.ok(files.includes(path), path);
  }
});
