// The emulator by its word, as an installed package builds it: sources there, nothing built.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { emulatorLibrary, isEmulatorSource } from './emulator-library.js';

const checkout = fileURLToPath(new URL('../../../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'tcpx-emulator-'));
after(() => rmSync(folder, { recursive: true, force: true }));
symlinkSync(join(checkout, 'native'), join(folder, 'native'));

test('emulator: what the package carries is enough to compile it, and it is done once', () => {
  // As fast a compilation as there is: that all sources and headers are named is what counts.
  const compiler = join(folder, 'cc');
  writeFileSync(compiler, '#!/bin/sh\nexec cc -O0 "$@" -O0\n', { mode: 0o755 });
  const environment = { XDG_CACHE_HOME: folder, PATH: process.env['PATH'], CC: compiler };
  let compiled = 0;
  const places = { root: folder, environment, onCompile: () => compiled++ };
  const path = emulatorLibrary(places);
  assert.match(path, /nixl-tcpx\/libnccl-net-tcpx-emulator-[0-9a-f]{16}\.so$/);
  assert.ok(readFileSync(path).includes('tcpx_emu_version\0'), 'it says what it is');
  assert.equal(emulatorLibrary(places), path);
  assert.equal(compiled, 1);
});

test('emulator: without a compiler the refusal says what is missing', () => {
  const environment = { XDG_CACHE_HOME: folder, CC: 'no-such-compiler' };
  assert.throws(() => emulatorLibrary({ root: folder, environment }), {
    code: 'ERR_CAP_NET_PLUGIN',
    message: /emulator cannot be built: no C compiler \(no-such-compiler.*install one/,
  });
});

test('emulator: its sources are in the package, the programs that judge it are not', () => {
  assert.ok(isEmulatorSource('plugin.c'));
  for (const file of ['driver.c', 'driver-cuda.c', 'nccl-check.c', 'emulator.h']) {
    assert.ok(!isEmulatorSource(file), file);
  }
  const manifest = readFileSync(join(checkout, 'package.json'), 'utf8');
  const { files } = JSON.parse(manifest) as { files: string[] };
  for (const path of ['native/emulator/*.c', 'native/emulator/emulator.h', 'native/symbols.h']) {
    assert.ok(files.includes(path), path);
  }
});
