// The package as a user gets it: packed, installed into an empty project, imported and started.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { certificates } from '../../scripts/suite/certificates.js';
import { emulatorPath, emulatorVariables, requireNative } from '../native/plugin-environment.js';
import { packageRoot, runChild } from './child.js';

interface Packed {
  readonly filename: string;
  readonly files: readonly { path: string }[];
}

const OFFLINE = /ENOTFOUND|EAI_AGAIN|ENOTCACHED|ECONNREFUSED|ENETUNREACH/;
const NPM_TIMEOUT_MS = 90_000;

// npm tells its children about the project that it runs in; the new project must not see that.
const env = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !name.startsWith('npm_') || /^npm_config_(registry|cache|userconfig)$/.test(name),
  ),
);

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-package-'));
  const project = mkdtempSync(join(tmpdir(), 'tcpx-project-'));
  const installed = join(project, 'node_modules/nixl-tcpx');
  let packed: Packed;
  let offlineReason: string | undefined;

  before(async () => {
    packed = await pack(folder);
    offlineReason = await install(project, join(folder, packed.filename));
  });

  after(() => {
    for (const path of [folder, project]) rmSync(path, { recursive: true, force: true });
  });

  test('package: holds what runs, and neither tests nor build leftovers', () => {
    const paths = packed.files.map((file) => file.path);
    const wanted = ['bin/tcpx.js', 'dist/src/index.js', 'dist/src/index.d.ts', 'LICENSE'];
    const entries = paths.filter((path) =>
      /^dist\/src\/(?!launch\/).*-(main|worker)\.js$/.test(path),
    );
    assert.ok(entries.length > 8, entries.join(' '));
    const isModule = (name: string) => name === 'client-memory-main';
    wanted.push('dist/src/launch/start.js', 'dist/src/launch/lane-worker.js');
    for (const name of entries.map((path) => basename(path, '.js'))) {
      wanted.push(`dist/src/launch/${name}${isModule(name) ? '.js' : '.cjs'}`);
    }
    for (const path of [...wanted, 'native/logger/logger.c']) {
      assert.ok(paths.includes(path), `${path} is missing`);
    }
    const unwanted = paths.filter((path) =>
      /\.(test|bench|fuzz)\.|\/testing\/|tsbuildinfo|\.map$|^(src|test|scripts)\//.test(path),
    );
    assert.deepEqual(unwanted, []);
  });

  test('package: can be imported and knows its errors', async (t) => {
    if (offlineReason !== undefined) {
      t.skip(offlineReason);
      return;
    }
    writeFileSync(
      join(project, 'use.mjs'),
      "import { TcpxError } from 'nixl-tcpx';\n" +
        "const error = new TcpxError('ERR_PEER_LOST', 'gone');\n" +
        'process.stdout.write(`${error.name} ${error.isRetryable}`);\n',
    );
    const result = await runChild(process.execPath, ['use.mjs'], { cwd: project, env });
    assert.equal(result.exitCode, 0, result.stderr);
    assert.equal(result.stdout, 'PeerError true');
  });

  test('package: threads and processes start from launch files', async (t) => {
    if (offlineReason !== undefined) {
      t.skip(offlineReason);
      return;
    }
    const { launchUrl } = (await import(
      pathToFileURL(join(installed, 'dist/src/base/launch.js')).href
    )) as typeof import('../../src/base/launch.js');
    const lane = launchUrl('provider/tcp/lane/lane-worker.js');
    assert.equal(fileURLToPath(lane), join(installed, 'dist/src/launch/lane-worker.cjs'));
  });

  test('package: npx starts the command', async (t) => {
    if (offlineReason !== undefined) {
      t.skip(offlineReason);
      return;
    }
    const version = await npx(project, ['--version']);
    const manifest = readFileSync(join(installed, 'package.json'), 'utf8');
    assert.equal(version.trim(), (JSON.parse(manifest) as { version: string }).version);
    const config = JSON.parse(await npx(project, ['config', '--json'])) as { schema: string };
    assert.equal(config.schema, 'tcpx.config/1');
  });

  test('package: makes the C library that the Python module loads', async (t) => {
    if (offlineReason !== undefined) {
      t.skip(offlineReason);
      return;
    }
    const cache = { XDG_CACHE_HOME: join(project, 'cache') };
    const said = JSON.parse(await npx(project, ['library', '--json'], cache)) as {
      library: string;
      module: string;
    };
    assert.ok(said.library.startsWith(cache.XDG_CACHE_HOME), said.library);
    assert.equal(said.module, join(installed, 'python/tcpx_p2p.py'));
    const folder = join(installed, 'python');
    const words = ['-c', 'import tcpx_p2p; print(tcpx_p2p.version())'];
    const places = { TCPX_P2P_LIBRARY: said.library, PYTHONPATH: folder };
    const options = { env: { ...env, ...places } };
    const { exitCode, stdout, stderr } = await runChild('python3', words, options);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^\d+\.\d+\.\d+/);
  });

  test('package: captures what a plugin says, or says why it cannot', async (t) => {
    if (offlineReason !== undefined) {
      t.skip(offlineReason);
      return;
    }
    requireNative();
    const ask = async (plugin: string, more: Readonly<Record<string, string>> = {}) => {
      const variables = { ...cache, ...more };
      const words = ['devices', '--json', '--plugin', plugin];
      return JSON.parse(await npx(project, words, variables)) as Record<string, string>;
    };
    const cache = { ...emulatorVariables, XDG_CACHE_HOME: join(project, 'cache') };
    // Of what was installed: both the emulator and what captures its words are compiled.
    const heard = await ask('emulator');
    assert.equal(heard['log'], 'captured');
    assert.equal(heard['evidence'], 'emulated');
    const mute = { CC: 'no-such-compiler' };
    const lost = await ask(emulatorPath, mute);
    assert.equal(lost['log'], 'silent');
    assert.match(lost['logSilence'] ?? '', /no C compiler \(no-such-compiler/);
  });

  test('package: no text names a path of the machine that built it', (t) => {
    if (offlineReason !== undefined) {
      t.skip(offlineReason);
      return;
    }
    const root = packageRoot.replace(/\/$/, '');
    const texts = readdirSync(installed, { recursive: true, encoding: 'utf8' })
      .filter((path) => !path.startsWith('node_modules/'))
      .filter((path) => /\.(js|ts|json|md|map|txt|html|css|ptx|h)$/.test(path));
    assert.ok(texts.length > 5, `only ${texts.length} texts found`);
    const naming = texts.filter((path) =>
      readFileSync(join(installed, path), 'utf8').includes(root),
    );
    assert.deepEqual(naming, []);
  });
});

async function pack(folder: string): Promise<Packed> {
  // Built already, since this test is a part of the build.
  const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const result = await runChild('npm', words, { env, timeoutMs: NPM_TIMEOUT_MS });
  assert.equal(result.exitCode, 0, result.stderr);
  const parsed = JSON.parse(result.stdout) as Packed[] | Record<string, Packed>;
  const packed = Object.values(parsed)[0];
  assert.ok(packed !== undefined, result.stdout);
  return packed;
}

/** Returns why the installation could not be tried, undefined when it worked. */
async function install(project: string, archive: string): Promise<string | undefined> {
  writeFileSync(join(project, 'package.json'), '{ "name": "empty", "private": true }\n');
  const words = ['install', archive, '--ignore-scripts', '--no-audit', '--no-fund'];
  const asking = { ...env, ...certificates() };
  const options = { cwd: project, env: asking, timeoutMs: NPM_TIMEOUT_MS };
  const result = await runChild('npm', [...words, '--prefer-offline'], options);
  if (result.exitCode !== 0 && OFFLINE.test(result.stderr)) return 'needs the npm registry';
  assert.equal(result.exitCode, 0, result.stderr);
  return undefined;
}

async function npx(
  project: string,
  words: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const result = await runChild('npx', ['--no-install', 'tcpx', ...words], {
    cwd: project,
    env: { ...env, ...variables },
  });
  assert.equal(result.exitCode, 0, result.stderr);
  return result.stdout;
}
