// Runs the C driver, which moves checked data through a plugin between two processes of its own.

import assert from 'node:assert/strict';
import { type ChildResult, runChild } from '../e2e/child.js';
import {
  cleanEnvironment,
  driverPath,
  emulatorPath,
  emulatorVariables,
  requireNative,
  type Variables,
} from './plugin-environment.js';

export interface DriverResult {
  readonly evidence: string;
  readonly bandwidthGBps: number;
  readonly verified: number;
  readonly mismatches: number;
  readonly highWater: number;
  readonly pages: number;
  readonly pagesLost: number;
}

export function runDriver(
  words: readonly string[],
  variables: Variables = {},
): Promise<ChildResult> {
  requireNative();
  return runChild(driverPath, ['--plugin', emulatorPath, ...words], {
    env: { ...cleanEnvironment(), ...emulatorVariables, ...variables },
    timeoutMs: 60_000,
  });
}

/** For runs that must succeed. */
export async function runDriverWell(
  words: readonly string[],
  variables: Variables = {},
): Promise<DriverResult> {
  const { exitCode, stdout, stderr } = await runDriver(['--quiet', ...words], variables);
  assert.equal(exitCode, 0, stderr);
  const result = JSON.parse(stdout) as DriverResult;
  assert.equal(result.evidence, 'emulated');
  assert.equal(result.mismatches, 0);
  assert.ok(result.highWater <= 16, `${result.highWater} outstanding`);
  assert.ok(result.pages > 0, 'the emulator counts its pages');
  assert.equal(result.pagesLost, 0, `${result.pagesLost} pages lost`);
  return result;
}
