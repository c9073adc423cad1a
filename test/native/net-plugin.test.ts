// Our bindings against real libraries: every table version we speak, and those we do not.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { packageRoot, runChild, runTcpx } from '../e2e/child.js';
import {
  cleanEnvironment,
  emulatorPath,
  emulatorVariables,
  requireNative,
  type Variables,
} from './plugin-environment.js';

const folder = mkdtempSync(join(tmpdir(), 'tcpx-plugin-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function compile(name: string, source: string, words: readonly string[] = []) {
  const output = join(folder, name);
  const flags = ['-shared', '-fPIC', '-D_GNU_SOURCE', '-o', output, ...words, source, '-ldl'];
  const { exitCode, stderr } = await runChild('cc', flags);
  assert.equal(exitCode, 0, stderr);
  return output;
}

function compileText(name: string, text: string): Promise<string> {
  const source = join(folder, `${name}.c`);
  writeFileSync(source, text);
  return compile(name, source);
}

async function transferThrough(path: string, variables: Variables = {}) {
  requireNative();
  const main = fileURLToPath(new URL('./plugin-transfer-main.js', import.meta.url));
  const env = { ...cleanEnvironment(), ...emulatorVariables, ...variables };
  const { exitCode, stdout, stderr } = await runChild(process.execPath, [main, path], { env });
  assert.equal(exitCode, 0, stderr);
  return JSON.parse(stdout) as {
    readonly tableVersion: number;
    readonly name: string;
    readonly properties: Readonly<Record<string, unknown>>;
    readonly fragments: number;
    readonly refused: number;
    readonly consumed: number;
    readonly consumedTwice: number;
    readonly warnings: number;
  };
}

describe('net plugin: a message through our bindings', () => {
  test('net plugin: table v7, refusals come back as negative results', async () => {
    const seen = await transferThrough(emulatorPath, { NCCL_NSOCKS_PERTHREAD: '2' });
    assert.equal(seen.tableVersion, 7);
    assert.equal(seen.name, 'GPUDirectTCPX_v7');
    assert.ok(seen.fragments >= 74, `${seen.fragments} fragments of 4 KiB at most`);
    assert.deepEqual([seen.refused, seen.consumed, seen.consumedTwice], [-3, 0, -3]);
    assert.ok(seen.warnings >= 2, 'the refusals were logged through the shim');
    assert.equal(seen.properties['netDeviceVersion'], 7);
  });

  for (const version of [8, 9, 10, 11]) {
    test(`net plugin: table v${version}, arguments and properties in their places`, async () => {
      const source = join(packageRoot, 'test/fixtures/native/table-version.c');
      const path = await compile(`libv${version}.so`, source, [`-DVERSION=${version}`]);
      const seen = await transferThrough(path, { TCPX_EMU_LIBRARY: emulatorPath });
      assert.equal(seen.tableVersion, version);
      const { properties } = seen;
      assert.equal(properties['name'], 'eth1');
      assert.equal(properties['guid'], '0xfedcba9876543210');
      assert.equal(properties['speedMbps'], 10_000);
      assert.equal(properties['latencyUs'], 1.5);
      assert.equal(properties['netDeviceType'], 1);
      assert.equal(properties['maxP2pBytes'], version >= 9 ? 2 ** 33 : undefined);
      assert.equal(properties['maxMultiRequestSize'], version >= 11 ? 4 : undefined);
    });
  }
});

interface DevicesDocument {
  readonly schema: string;
  readonly evidence: string;
  readonly plugin: { readonly path: string; readonly tableVersion: number };
  readonly devices: readonly { readonly index: number; readonly name: string }[];
  readonly differences: readonly { readonly property: string; readonly values: unknown[] }[];
}

const TWO_SPEEDS = {
  ...emulatorVariables,
  UCCL_TCPX_PLUGIN_PATH: emulatorPath,
  TCPX_EMU_NICS: 'wlan7,addr=127.0.0.12,speed=100000;eth1,addr=127.0.0.11,speed=200000',
};

// eslint-disable-next-line max-lines-per-function -- a list of tests
describe('tcpx devices', () => {
  test('devices: properties per NIC and what differs, marked as emulated', async () => {
    const { exitCode, stdout, stderr } = await runTcpx(['devices', '--json'], TWO_SPEEDS);
    assert.equal(exitCode, 0, stderr);
    const document = JSON.parse(stdout) as DevicesDocument;
    assert.equal(document.schema, 'tcpx.devices/1');
    assert.equal(document.evidence, 'emulated');
    assert.deepEqual(
      document.devices.map(({ name }) => name),
      ['eth1', 'wlan7'],
    );
    assert.deepEqual(document.differences, [{ property: 'speedMbps', values: [200_000, 100_000] }]);
    const text = await runTcpx(['devices'], TWO_SPEEDS);
    assert.match(text.stdout, /\(emulated\)\n(.*\n)*.*The NICs differ in:\nspeedMbps +200000/);
  });

  test('devices: an interface named alone is device 0', async () => {
    const { stdout } = await runTcpx(['devices', '--json', '--ifaces=wlan7'], TWO_SPEEDS);
    const { devices } = JSON.parse(stdout) as DevicesDocument;
    assert.deepEqual(
      devices.map(({ index, name }) => [index, name]),
      [[0, 'wlan7']],
    );
  });

  const failures: readonly (readonly [string, Variables, readonly string[], number, RegExp])[] = [
    ['no library', { UCCL_TCPX_PLUGIN_PATH: '' }, [], 3, /_NET_PLUGIN: .*tried .*libnccl-net\.so/],
    ['missing library', {}, ['--plugin', '/nowhere.so'], 3, /_NET_PLUGIN: .*nowhere\.so \(cannot/],
    ['not a library', {}, ['--plugin', '/etc/passwd'], 3, /_NET_PLUGIN: .*invalid ELF header/],
    ['not a plugin', {}, ['--plugin', 'libm.so.6'], 3, /_PLUGIN_TABLE: .*no ncclNetPlugin table/],
    ['init fails', { TCPX_EMU_FAULT: 'init' }, [], 4, /_CALL: plugin init: internal error \(3\)/],
    ['disabled', { NCCL_GPUDIRECTTCPX_SOCKET_ENABLE: '0' }, [], 4, /_CALL: plugin init/],
    ['an absent interface', {}, ['--nics', 'eth1,eth9'], 3, /_NET_DEVICE: interface eth9: not/],
    ['only an absent one', {}, ['--nics', 'eth9'], 4, /it said: no interface found/],
  ];
  for (const [name, variables, words, code, pattern] of failures) {
    test(`devices: ${name} exits with ${code}`, async () => {
      const run = await runTcpx(['devices', '--log-level', 'error', ...words], {
        ...TWO_SPEEDS,
        ...variables,
      });
      assert.equal(run.exitCode, code, run.stderr);
      assert.match(run.stderr, pattern);
      assert.equal(run.stderr.trimEnd().split('\n').length, 1, run.stderr);
      assert.equal(run.stdout, '');
    });
  }

  test('devices: tables that are too old or too new are refused by name', async () => {
    for (const version of [6, 12]) {
      const path = await compileText(`old${version}`, `void *ncclNetPlugin_v${version}[22];\n`);
      const { exitCode, stderr } = await runTcpx(['devices', '--plugin', path]);
      assert.equal(exitCode, 3);
      assert.match(
        stderr,
        new RegExp(`_PLUGIN_TABLE: .*exports ncclNetPlugin_v${version}; known are v7 to v11`),
      );
    }
  });

  test('devices: a plugin that ends its process or crashes in init is an error', async () => {
    const cases: readonly (readonly [string, string, RegExp])[] = [
      ['exits', 'exit(1)', /_EXIT: .*exited with 1/],
      ['crashes', 'raise(11)', /_EXIT: .*ended by SIGSEGV/],
    ];
    for (const [name, statement, pattern] of cases) {
      const text =
        '#include <stdlib.h>\n#include <signal.h>\n' +
        `static int bad(void *x) { (void)x; ${statement}; return 0; }\n` +
        `void *ncclNetPlugin_v7[19] = {"bad", ${Array(18).fill('bad').join(', ')}};\n`;
      const path = await compileText(name, text);
      const { exitCode, stderr } = await runTcpx(['devices', '--plugin', path]);
      assert.equal(exitCode, 4, stderr);
      assert.match(stderr, pattern);
    }
  });
});
