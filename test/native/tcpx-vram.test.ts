// The suite of GPU memory through the tcpx provider, on a stand-in for libcuda where there is no
// GPU: device memory that the processor cannot touch, work that is done late.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CUDA_LIBRARY, gpuAbsence } from '../../src/ffi/cuda/driver.js';
import { cleanEnvironment, fakeCudaPath } from './plugin-environment.js';
import { closeProviders, temporaryFolder } from './tcpx-pair.js';

after(closeProviders);

const SUITE = fileURLToPath(new URL('tcpx-vram-suite.js', import.meta.url));
const SUITE_MS_MAX = 240_000;

if (gpuAbsence() === undefined) await import('./tcpx-vram-suite.js');
else {
  test('tcpx vram: the suite passes on a stand-in for libcuda', () => {
    const folder = temporaryFolder();
    symlinkSync(fakeCudaPath, join(folder, CUDA_LIBRARY));
    // Named, because the reporter of a pipe is another from release to release.
    const words = ['--test', '--test-reporter=tap', SUITE];
    const result = spawnSync(process.execPath, words, {
      // Not a part of this run: it would speak to it instead of printing.
      env: { ...cleanEnvironment(), NODE_TEST_CONTEXT: undefined, LD_LIBRARY_PATH: folder },
      encoding: 'utf8',
      timeout: SUITE_MS_MAX,
    });
    assert.equal(result.status, 0, `${result.stdout.slice(-20_000)}\n${result.stderr}`);
    assert.match(result.stdout, /^# pass [1-9]/m);
    assert.match(result.stdout, /^# skipped 0$/m);
  });
}
