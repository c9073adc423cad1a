// The C library as it was built: what it needs, what it shows, and that its header says what the
// service means.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { SERVICE_NOTIFICATION_BYTES_MAX } from '../../src/base/service-layout.js';
import { SERVICE_STATUSES } from '../../src/base/service-status.js';
import { packageRoot } from '../e2e/child.js';
import { requireNative } from '../native/plugin-environment.js';

const LIBRARY = join(packageRoot, 'build/native/libtcpx_p2p.so');
const HEADER = join(packageRoot, 'include/tcpx_p2p.h');

function run(program: string, words: readonly string[], input = ''): string {
  const result = spawnSync(program, words, { encoding: 'utf8', input });
  assert.equal(result.status, 0, `${program} ${words.join(' ')}: ${result.stderr}`);
  return result.stdout;
}

test('C library: needs libc alone, is position-independent, stays loaded', () => {
  requireNative();
  const dynamic = run('readelf', ['-dW', LIBRARY]);
  const needed = [...dynamic.matchAll(/NEEDED.*\[(.*)\]/g)].map(([, name]) => name);
  assert.deepEqual(needed, ['libc.so.6']);
  assert.doesNotMatch(dynamic, /TEXTREL/);
  assert.match(dynamic, /SONAME.*libtcpx_p2p\.so\.1/);
  assert.match(dynamic, /NODELETE/);
});

test('C library: shows the functions of its header and no other symbol', () => {
  const header = readFileSync(HEADER, 'utf8');
  const declared = [...header.matchAll(/^TCPX_API [^;]*?\b(tcpx_\w+)\(/gm)].map(([, name]) => name);
  const symbols = run('nm', ['-D', '--defined-only', LIBRARY]).trim().split('\n');
  const shown = symbols.map((line) => line.split(' ')[2]);
  assert.ok(declared.length > 25, `${declared.length} functions`);
  assert.deepEqual(shown.sort(), declared.sort());
});

test('C library: numbers of its header are those of the service', () => {
  const header = readFileSync(HEADER, 'utf8');
  const numbers = [...header.matchAll(/^\s+TCPX_(OK|IN_PROGRESS|ERR_\w+) = (-?\d+)/gm)];
  const seen = Object.fromEntries(numbers.map(([, name = '', value]) => [name, Number(value)]));
  const meant = Object.entries(SERVICE_STATUSES).map(([name, { number }]) => [name, number]);
  assert.deepEqual(seen, Object.fromEntries(meant));
  const limit = /TCPX_NOTIFICATION_BYTES_MAX = (\d+)/.exec(header)?.[1];
  assert.equal(Number(limit), SERVICE_NOTIFICATION_BYTES_MAX);
});

for (const words of [
  ['-x', 'c', '-std=c99', '-pedantic'],
  ['-x', 'c', '-std=c17'],
]) {
  test(`C library: its header compiles by itself with ${words.join(' ')}`, () => {
    const flags = [...words, '-Wall', '-Wextra', '-Werror', '-fsyntax-only', '-'];
    run('cc', flags, `#include "${HEADER}"\nint main(void) { return tcpx_api_version(); }\n`);
  });
}
