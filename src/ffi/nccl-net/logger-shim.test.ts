import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cacheFolder } from '../compiled-library.js';
import { findLoggerShim } from './logger-shim.js';
import { openPluginLogger } from './plugin-logger.js';

const cache = mkdtempSync(join(tmpdir(), 'tcpx-shim-'));
after(() => rmSync(cache, { recursive: true, force: true }));

/** As in an installed package: the source is there, and nothing is built. */
const places = {
  builtPath: '/nowhere.so',
  sourcePath: fileURLToPath(new URL('../../../../native/logger/logger.c', import.meta.url)),
  environment: { XDG_CACHE_HOME: cache, PATH: process.env['PATH'] },
};

test('logger shim: is compiled on first use, and found from then on', () => {
  const first = findLoggerShim(places);
  assert.equal(first.absence, '');
  assert.match(first.path, /nixl-tcpx\/libtcpx-logger-[0-9a-f]{16}\.so$/);
  assert.equal(openPluginLogger({ shim: first }).silence, '');
  const before = readdirSync(cacheFolder(places.environment));
  assert.deepEqual(findLoggerShim(places), first);
  assert.deepEqual(readdirSync(cacheFolder(places.environment)), before, 'nothing is left behind');
});

test('logger shim: without a compiler the reason says what is missing', () => {
  const { path, absence } = findLoggerShim({
    ...places,
    environment: { ...places.environment, CC: 'no-such-compiler' },
  });
  assert.equal(path, '');
  assert.match(absence, /no C compiler \(no-such-compiler.*install one .* or name one with CC/);
});

test('logger shim: a source that does not compile is named with the compiler’s words', () => {
  const broken = join(cache, 'broken.c');
  writeFileSync(broken, 'int x = ;\n');
  assert.match(findLoggerShim({ ...places, sourcePath: broken }).absence, /ended with 1: .*error/);
});

test('logger shim: what others can write is not loaded', () => {
  const { path } = findLoggerShim(places);
  chmodSync(path, 0o777);
  const { path: found, absence } = findLoggerShim(places);
  assert.equal(found, '');
  assert.match(absence, /can be written by others/);
});
