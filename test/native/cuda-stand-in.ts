// Runs a suite of GPU memory in a process that finds a stand-in for libcuda in its place: device
// memory that the processor cannot touch, work that is done late.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CUDA_LIBRARY } from '../../src/ffi/cuda/driver.js';
import { cleanEnvironment, fakeCudaPath, requireNative } from './plugin-environment.js';

const SUITE_MS_MAX = 420_000;

export interface SuiteRow {
  readonly name: string;
  readonly isGood: boolean;
}

/** What each test came to; throws with all that was said where the suite fails or skips. */
export function runOnStandIn(suite: string): SuiteRow[] {
  requireNative();
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-cuda-'));
  try {
    symlinkSync(fakeCudaPath, join(folder, CUDA_LIBRARY));
    const words = ['--test', '--test-reporter=tap', suite];
    const { status, stdout, stderr } = spawnSync(process.execPath, words, {
      // Not a part of this run: it would speak to it instead of printing.
      env: { ...cleanEnvironment(), NODE_TEST_CONTEXT: undefined, LD_LIBRARY_PATH: folder },
      encoding: 'utf8',
      timeout: SUITE_MS_MAX,
      maxBuffer: 64 * 1024 * 1024,
    });
    if (status !== 0 || !/^# skipped 0$/m.test(stdout)) {
      throw new Error(`exit ${String(status)}\n${stdout.slice(-20_000)}\n${stderr}`);
    }
    return [...stdout.matchAll(/^ *(ok|not ok) \d+ - (.*)$/gm)].map(([, verdict, name = '']) => ({
      name,
      isGood: verdict === 'ok',
    }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
