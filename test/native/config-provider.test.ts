// `tcpx config` names the provider that an engine on this host would use, and what it lacks.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { SettingValues } from '../../src/base/settings.js';
import { Engine } from '../../src/engine/engine.js';
import type { ProviderOutlook } from '../../src/engine/provider-outlook.js';
import { CUDA_LIBRARY } from '../../src/ffi/cuda/driver.js';
import { runTcpx } from '../e2e/child.js';
import {
  emulatorPath,
  emulatorVariables,
  fakeCudaPath,
  requireNative,
} from './plugin-environment.js';

const NO_PLUGIN = '/nowhere/plugin.so';

async function outlook(words: readonly string[], environment = {}): Promise<ProviderOutlook> {
  const { exitCode, stdout, stderr } = await runTcpx(['config', '--json', ...words], environment);
  assert.equal(exitCode, 0, stderr);
  return (JSON.parse(stdout) as { provider: ProviderOutlook }).provider;
}

async function openedReason(settings: Partial<SettingValues>): Promise<string> {
  const engine = await Engine.open({ settings });
  try {
    return engine.providerReason;
  } finally {
    await engine.close();
  }
}

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('tcpx config: the provider', () => {
  let gpuFolder = '';

  before(() => {
    requireNative();
    gpuFolder = mkdtempSync(join(tmpdir(), 'tcpx-cuda-'));
    symlinkSync(fakeCudaPath, join(gpuFolder, CUDA_LIBRARY));
  });

  after(() => rmSync(gpuFolder, { recursive: true, force: true }));

  test('config: without a plugin auto is tcp, for the reason that an engine gives', async () => {
    const seen = await outlook(['--plugin', NO_PLUGIN]);
    assert.equal(seen.setting, 'auto');
    assert.equal(seen.provider, 'tcp');
    assert.deepEqual(seen.plugin, { state: 'missing', text: `no plugin at ${NO_PLUGIN}` });
    assert.equal(seen.reason, await openedReason({ 'plugin.path': NO_PLUGIN }));
  });

  test('config: with a plugin and no GPU auto is tcp, and says so', async () => {
    // In the place of any driver that the host may have.
    const broken = join(gpuFolder, 'broken');
    mkdirSync(broken);
    writeFileSync(join(broken, CUDA_LIBRARY), '');
    const seen = await outlook(['--plugin', emulatorPath], {
      ...emulatorVariables,
      LD_LIBRARY_PATH: broken,
    });
    assert.equal(seen.gpu.state, 'missing');
    assert.deepEqual(seen.plugin, { state: 'found', text: emulatorPath });
    assert.equal(seen.provider, 'tcp');
    assert.equal(seen.reason, seen.gpu.text);
    assert.equal(seen.nics.state, 'unknown');
  });

  test('config: plugin, GPU and NICs are there: tcpx', async () => {
    const seen = await outlook(['--plugin', emulatorPath], {
      ...emulatorVariables,
      LD_LIBRARY_PATH: gpuFolder,
      TCPX_EMU_GPU_NICS: '0=eth1,1=eth2',
    });
    assert.equal(seen.provider, 'tcpx', seen.reason);
    assert.equal(seen.gpu.state, 'found', seen.gpu.text);
    assert.deepEqual(seen.nics, { state: 'found', text: 'eth1 (GPU 0), eth2 (GPU 1)' });
  });

  test('config: a pair of NIC and GPU that cannot be is missing, and auto is tcp', async () => {
    const words = ['--plugin', emulatorPath, '--rail-gpus', 'eth1'];
    const seen = await outlook(words, { ...emulatorVariables, LD_LIBRARY_PATH: gpuFolder });
    assert.equal(seen.nics.state, 'missing');
    assert.match(seen.nics.text, /tcpx\.railGpus: "eth1" is not NIC=GPU/);
    assert.equal(seen.provider, 'tcp');
    assert.equal(seen.reason, seen.nics.text);
  });

  test('config: a provider that was asked for is named, whatever is there', async () => {
    for (const provider of ['tcp', 'tcpx'] as const) {
      const seen = await outlook(['--provider', provider, '--plugin', NO_PLUGIN]);
      assert.equal(seen.provider, provider);
      assert.match(seen.reason, new RegExp(`^engine.provider is ${provider}`));
      assert.equal(seen.plugin.state, 'missing');
    }
  });

  test('config: people see the same', async () => {
    const { stdout } = await runTcpx(['config', '--plugin', NO_PLUGIN]);
    assert.match(stdout, /^engine\.provider auto {2,}tcp {2,}no plugin at \/nowhere\/plugin\.so$/m);
    for (const need of ['plugin', 'GPU', 'NICs']) {
      assert.match(stdout, new RegExp(`^needs ${need} +(found|missing|unknown) +\\S`, 'm'));
    }
  });
});
