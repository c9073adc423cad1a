import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { mockPlugin } from '../../test/support/mock-backend.js';
import { MockNetwork } from '../../test/support/mock-network.js';
import { type ErrorCode, isTcpxError } from '../base/errors.js';
import { Agent } from './agent.js';
import { PluginManager } from './plugin-manager.js';

const source = (apiVersion: number, extra = '') => `
export const nixlBackendPlugin = {
  apiVersion: ${apiVersion}, name: 'ACME', version: '2.1.0', defaultParams: { rate: '7' },
  memTypes: [0],
  create(init) {
    if (init.params.rate === 'bad') throw new Error('no such rate');
    const nothing = () => { throw new Error('unused'); };
    return {
      supportsRemote: false, supportsLocal: true, supportsNotif: false,
      getSupportedMems: () => [0], connect() {}, disconnect() {}, close() {},
      registerMem: () => ({}), deregisterMem() {}, loadLocalMD: (md) => md, unloadMD() {},
      prepXfer: () => ({}), postXfer: () => 0, checkXfer: () => 0, releaseReqH: () => 0, nothing,
    };
  },
  ${extra}
};`;

async function directoryWith(t: TestContext, files: Record<string, string>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'nixl-plugin-'));
  t.after(() => rm(directory, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(directory, name, '..'), { recursive: true });
    await writeFile(join(directory, name), text);
  }
  return directory;
}

async function refuses(loading: Promise<unknown>, code: ErrorCode, rule: RegExp): Promise<void> {
  await assert.rejects(loading, (error) => {
    assert.ok(isTcpxError(error, code), String(error));
    assert.match(error.message, rule);
    return true;
  });
}

test('plugins: a third-party module loads by path and makes a backend', async (t) => {
  const directory = await directoryWith(t, { 'acme.mjs': source(1) });
  const plugins = new PluginManager(directory);
  await plugins.load('./acme.mjs');
  assert.deepEqual(plugins.getAvailPlugins(), ['ACME']);
  const agent = await Agent.create('a', { plugins });
  t.after(() => agent.close());
  assert.deepEqual(await agent.getPluginParams('ACME'), { memTypes: [0], params: { rate: '7' } });
  const backend = await agent.createBackend('ACME', { size: '3' });
  assert.deepEqual(agent.getBackendParams(backend).params, { rate: '7', size: '3' });
});

test('plugins: by package name, with require and with import-only exports', async (t) => {
  const manifest = (exports: string) => `{"name":"x","version":"1.0.0","type":"module",${exports}}`;
  const directory = await directoryWith(t, {
    'node_modules/acme-main/package.json': manifest('"main":"entry.js"'),
    'node_modules/acme-main/entry.js': source(1),
    'node_modules/@acme/only/package.json': manifest('"exports":{".":{"import":"./lib/e.js"}}'),
    'node_modules/@acme/only/lib/e.js': source(1),
  });
  const plugins = new PluginManager(join(directory));
  await plugins.load('acme-main', 'MAIN');
  await plugins.load('@acme/only', 'ONLY');
  assert.deepEqual(plugins.getAvailPlugins(), ['MAIN', 'ONLY']);
  await refuses(plugins.load('acme-none'), 'ERR_USAGE_NOT_FOUND', /acme-none is not installed/);
});

test('plugins: a declared one is imported at first use, under the declared name', async (t) => {
  const directory = await directoryWith(t, {
    'acme.mjs': `globalThis.acmeImports = (globalThis.acmeImports ?? 0) + 1;${source(1)}`,
  });
  const imports = () => (globalThis as { acmeImports?: number }).acmeImports ?? 0;
  const plugins = new PluginManager(directory);
  plugins.declare('OTHER', './acme.mjs');
  assert.deepEqual(plugins.getAvailPlugins(), ['OTHER']);
  assert.equal(imports(), 0);
  assert.equal((await plugins.get('OTHER')).name, 'ACME');
  assert.equal(imports(), 1);
});

test('plugins: another API version is refused, naming both', async (t) => {
  const directory = await directoryWith(t, { 'acme.mjs': source(2) });
  const loading = new PluginManager(directory).load('./acme.mjs');
  await refuses(loading, 'ERR_CAP_PLUGIN', /API version 2, this is 1/);
});

test('plugins: what is not a plugin is refused with the rule it broke', async (t) => {
  const directory = await directoryWith(t, {
    'empty.mjs': '',
    'throws.mjs': 'throw new Error("boom")',
    'mems.mjs': source(1, 'memTypes: [9],'),
    'name.mjs': source(1, 'name: "a b",'),
    'params.mjs': source(1, 'defaultParams: { n: 3 },'),
    'create.mjs': source(1, 'create: 3,'),
  });
  const plugins = new PluginManager(directory);
  await refuses(plugins.load('./empty.mjs'), 'ERR_CAP_PLUGIN', /no nixlBackendPlugin/);
  await refuses(plugins.load('./throws.mjs'), 'ERR_CAP_PLUGIN', /boom/);
  await refuses(plugins.load('./mems.mjs'), 'ERR_CAP_PLUGIN', /memTypes/);
  await refuses(plugins.load('./name.mjs'), 'ERR_CAP_PLUGIN', /name/);
  await refuses(plugins.load('./params.mjs'), 'ERR_CAP_PLUGIN', /defaultParams/);
  await refuses(plugins.load('./create.mjs'), 'ERR_CAP_PLUGIN', /create/);
  await refuses(plugins.load('./none.mjs'), 'ERR_USAGE_NOT_FOUND', /does not exist/);
});

test('createBackend: unknown, second and failing ones are refused', async (t) => {
  const directory = await directoryWith(t, { 'acme.mjs': source(1) });
  const plugins = new PluginManager(directory);
  await plugins.load('./acme.mjs');
  const agent = await Agent.create('a', { plugins });
  t.after(() => agent.close());
  await refuses(agent.createBackend('NONE'), 'ERR_USAGE_NOT_FOUND', /NONE.*ACME/);
  const failing = agent.createBackend('ACME', { rate: 'bad' });
  await refuses(failing, 'ERR_CAP_BACKEND', /no such rate/);
  await agent.createBackend('ACME');
  await refuses(agent.createBackend('ACME'), 'ERR_USAGE_ARGUMENT', /exists already/);
});

test('createBackend: a remote backend without notifications or methods is refused', async (t) => {
  const plugin = mockPlugin(new MockNetwork());
  for (const [change, rule] of [
    [{ supportsNotif: false }, /notifications/],
    [{ loadRemoteMD: undefined }, /lacks loadRemoteMD/],
  ] as const) {
    const plugins = new PluginManager();
    plugins.register({
      ...plugin,
      create: async (init) => {
        const backend = await plugin.create(init);
        for (const [name, value] of Object.entries(change)) {
          Object.defineProperty(backend, name, { value });
        }
        return backend;
      },
    });
    const agent = await Agent.create('a', { plugins });
    t.after(() => agent.close());
    await refuses(agent.createBackend('MOCK'), 'ERR_CAP_BACKEND', rule);
  }
});
