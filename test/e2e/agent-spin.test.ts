// A loop over getXferStatus that never returns to the event loop ends: with success where the
// connection stands, with an error that says what to call where it does not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cleanEnvironment,
  emulatorVariables,
  requireNative,
} from '../native/plugin-environment.js';
import { pluginParams, pluginVariables } from '../native/plugin-params.js';
import { packageRoot, runChild } from './child.js';

interface Ending {
  readonly status: string;
  readonly code?: string;
  readonly text?: string;
}

const WAYS = [
  { name: 'lanes', params: {}, variables: {} },
  { name: 'caller', params: { 'lane.progress': 'caller' }, variables: {} },
  {
    name: 'plugin',
    params: pluginParams({}),
    variables: { ...emulatorVariables, ...pluginVariables() },
  },
] as const;

for (const { name, params, variables } of WAYS) {
  test(`agent, ${name}: a status loop without the event loop ends`, async () => {
    requireNative();
    const main = ['dist/test/e2e/agent-spin-main.js', JSON.stringify(params)];
    const env = { ...cleanEnvironment(), ...variables };
    const run = await runChild(process.execPath, main, {
      env,
      cwd: packageRoot,
      timeoutMs: 120_000,
    });
    assert.equal(run.exitCode, 0, run.stderr);
    const endings = JSON.parse(run.stdout) as Record<string, Ending>;
    const { unconnected, connected, again } = endings;
    assert.equal(unconnected?.status, 'NIXL_ERR_CANCELED');
    assert.equal(unconnected.code, 'ERR_USAGE_STATE');
    assert.match(unconnected.text ?? '', /event loop.*await agent\.makeConnection\('target'\)/);
    assert.match(run.stderr, /makeConnection/, 'the log says it too');
    assert.equal(connected?.status, 'NIXL_SUCCESS', JSON.stringify(connected));
    assert.equal(again?.status, 'NIXL_SUCCESS', JSON.stringify(again));
  });
}
