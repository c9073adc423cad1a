import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nativeTargets } from './targets.js';

test('native targets: each source of native/ belongs to exactly one output', () => {
  const paths = [
    'native/nccl-net-v7.h',
    'native/emulator/plugin.c',
    'native/emulator/driver.c',
    'native/emulator/driver-plugin.c',
    'native/fake-cuda/memory.c',
    'native/emulator/nccl-check.c',
    'native/logger/logger.c',
    'native/unpack/unpack.c',
    'native/launcher/launcher.c',
    'native/p2p/session.c',
    'native/p2p-check/check.c',
    'native/nixl/tcpx_plugin.cpp',
    'native/nixl-check/main.cpp',
  ];
  const targets = nativeTargets(paths, '1.2.3');
  // The C library is built twice, to be loaded and to be linked in.
  const once = targets.filter((target) => target.isArchive !== true);
  const sources = once.flatMap((target) => target.sources).sort();
  assert.deepEqual(sources, paths.filter((path) => /\.(c|cpp)$/.test(path)).sort());
  for (const target of targets) {
    assert.ok(target.flags.includes('-Werror'), target.name);
    assert.deepEqual(target.headers, ['native/nccl-net-v7.h']);
    assert.equal(
      target.isCxx === true,
      target.sources.every((path) => path.endsWith('.cpp')),
    );
  }
});
