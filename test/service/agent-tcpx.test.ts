// An agent in TypeScript and programs of a service, all through the emulated plugin, on a stand-in
// for libcuda where there is no GPU.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gpuAbsence } from '../../src/ffi/cuda/driver.js';
import { runOnStandIn } from '../native/cuda-stand-in.js';
import { hasCxx } from './nixl-world.js';

const SUITE = fileURLToPath(new URL('agent-tcpx-suite.js', import.meta.url));

if (gpuAbsence() === undefined) await import('./agent-tcpx-suite.js');
else {
  test('agent over tcpx: all passes on a stand-in for libcuda', {
    skip: hasCxx ? false : 'needs a C++ compiler',
  }, async (t) => {
    const rows = runOnStandIn(SUITE).filter(({ name }) => !name.startsWith('/'));
    assert.equal(rows.length, 4);
    for (const { name, isGood } of rows) await t.test(name, () => assert.ok(isGood, name));
  });
}
