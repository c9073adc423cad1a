// The providers' suite with GPU memory, on a stand-in for libcuda where there is no GPU. The rows
// of the child are told one by one, so that they stand in the table like all others.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gpuAbsence } from '../../src/ffi/cuda/driver.js';
import { runOnStandIn } from '../native/cuda-stand-in.js';

const SUITE = fileURLToPath(new URL('provider-vram-suite.js', import.meta.url));

if (gpuAbsence() === undefined) await import('./provider-vram-suite.js');
else {
  test('contract: tcpx, GPU memory: every row passes on a stand-in for libcuda', async (t) => {
    const rows = runOnStandIn(SUITE).filter(({ name }) => name.startsWith('contract: '));
    assert.ok(rows.length > 30, `${rows.length} rows`);
    for (const { name, isGood } of rows) await t.test(name, () => assert.ok(isGood, name));
  });
}
