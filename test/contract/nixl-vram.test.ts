// Agents and p2p sessions through the emulated plugin with host and GPU memory, on a stand-in for
// libcuda where there is no GPU.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gpuAbsence } from '../../src/ffi/cuda/driver.js';
import { runOnStandIn } from '../native/cuda-stand-in.js';

const SUITE = fileURLToPath(new URL('nixl-vram-suite.js', import.meta.url));

if (gpuAbsence() === undefined) await import('./nixl-vram-suite.js');
else {
  test('agents and p2p through the plugin: all passes on a stand-in for libcuda', async (t) => {
    const rows = runOnStandIn(SUITE).filter(({ name }) => !name.startsWith('/'));
    assert.ok(rows.length >= 2);
    for (const { name, isGood } of rows) await t.test(name, () => assert.ok(isGood, name));
  });
}
