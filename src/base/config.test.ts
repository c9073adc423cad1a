import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  type ConfigSources,
  isByHand,
  loadConfig,
  processEnvironment,
  withAuto,
} from './config.js';
import { isTcpxError } from './errors.js';
import { SETTING_NAMES, settingOf } from './settings.js';

function codeOf(sources: ConfigSources): string {
  try {
    loadConfig(sources);
  } catch (error) {
    return isTcpxError(error) ? error.code : String(error);
  }
  return 'none';
}

function originOf(sources: ConfigSources): string {
  const { effective } = loadConfig(sources);
  return effective.find(({ name }) => name === 'flow.chunkBytes')?.origin ?? '';
}

test('config: without sources every setting has its default', () => {
  const { values, effective } = loadConfig();
  for (const name of SETTING_NAMES) assert.equal(values[name], settingOf(name).fallback, name);
  assert.ok(effective.every(({ origin }) => origin === 'default'));
});

test('config: flag wins over option, option over environment, own name over alias', () => {
  const flags = { 'flow.chunkBytes': '8K' };
  const options = { 'flow.chunkBytes': 16384 };
  const alias = { UCCL_TCPX_CHUNK_BYTES: '32K', NCCL_P2P_NET_CHUNKSIZE: '64K' };
  const own = { ...alias, NIXL_TCPX_FLOW_CHUNK_BYTES: '128K' };
  assert.equal(originOf({ flags, options, environment: own }), 'flag --chunk');
  assert.equal(originOf({ options, environment: own }), 'option');
  assert.equal(originOf({ environment: own }), 'environment NIXL_TCPX_FLOW_CHUNK_BYTES');
  assert.equal(originOf({ environment: alias }), 'environment UCCL_TCPX_CHUNK_BYTES');
  assert.equal(loadConfig({ environment: alias }).values['flow.chunkBytes'], 32768);
});

test('config: a profile wins over what is chosen for the host, everything else over it', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-profile-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'best.env');
  writeFileSync(path, '# measured\n\nNIXL_TCPX_FLOW_CHUNK_BYTES=256K\n');
  const environment = { NIXL_TCPX_ENGINE_PROFILE: path };
  assert.equal(originOf({ environment }), `profile ${path}`);
  const config = loadConfig({ environment });
  assert.equal(config.values['flow.chunkBytes'], 262_144);
  assert.equal(withAuto(config, 'flow.chunkBytes', 4096, 'measured'), config, 'not over a profile');
  assert.equal(isByHand(config, 'flow.chunkBytes'), true);
  assert.equal(isByHand(config, 'flow.channels'), false);
  const set = { ...environment, NIXL_TCPX_FLOW_CHUNK_BYTES: '8K' };
  assert.equal(originOf({ environment: set }), 'environment NIXL_TCPX_FLOW_CHUNK_BYTES');
  const alias = { ...environment, UCCL_TCPX_CHUNK_BYTES: '8K' };
  assert.equal(originOf({ environment: alias }), 'environment UCCL_TCPX_CHUNK_BYTES');
  const options = { 'flow.chunkBytes': 8192 };
  assert.equal(originOf({ options, environment }), 'option');
  const flags = { 'flow.chunkBytes': '8K', 'engine.profile': path };
  assert.equal(originOf({ flags }), 'flag --chunk');
  assert.equal(originOf({ flags: { ...flags, 'flow.chunkBytes': 'auto' } }), 'default');
  assert.equal(originOf({ flags: { 'engine.profile': '' }, environment }), 'default', 'none');
  assert.equal(codeOf({ flags: { 'engine.profile': folder } }), 'ERR_CONFIG_VALUE');
  writeFileSync(path, 'NIXL_TCPX_FLOW_CHUNK_BYTES=1\n');
  assert.throws(() => loadConfig({ environment }), new RegExp(`"1" from profile ${path}`));
});

test('config: names that users of other tools have set are understood', () => {
  const environment = {
    UCCL_TCPX_PERF_SIZE: '67108864',
    UCCL_TCPX_PERF_ITERS: '10',
    NCCL_P2P_NET_CHUNKSIZE: '262144',
    UCCL_TCPX_NUM_CHANNELS: '2',
    UCCL_TCPX_MAX_SEND_INFLIGHT: '8',
    UCCL_TCPX_BOOTSTRAP_PORT_BASE: '20000',
    UCCL_TCPX_OOB_PORT: '28900',
    UCCL_TCPX_HOST_RECV_DEBUG: '1',
    UCCL_TCPX_LOCAL_DEVICE: '3',
    UCCL_TCPX_PLUGIN_PATH: '/opt/x.so',
    UCCL_TCPX_DEBUG: '1',
    UCCL_TCPX_UNPACK_IMPL: 'd2d',
    UCCL_TCPX_MAX_RECV_INFLIGHT: '9',
    UCCL_TCPX_WINDOW_SIZE: '7',
  };
  const { values } = loadConfig({ environment });
  assert.equal(values['bench.sizeBytes'], 67_108_864);
  assert.equal(values['bench.iterations'], 10);
  assert.equal(values['flow.chunkBytes'], 262_144);
  assert.equal(values['flow.channels'], 2);
  assert.equal(values['tcpx.sendWindow'], 8);
  // The window of whichever provider is in use.
  assert.equal(values['tcpx.recvWindow'], 9);
  assert.equal(values['flow.windowChunks'], 9);
  const { values: sized } = loadConfig({ environment: { UCCL_TCPX_WINDOW_SIZE: '7' } });
  const windows = ['tcpx.sendWindow', 'tcpx.recvWindow', 'flow.windowChunks'] as const;
  assert.deepEqual(
    windows.map((name) => sized[name]),
    [7, 7, 7],
  );
  assert.equal(values['session.port'], 20_000);
  assert.equal(values['plugin.path'], '/opt/x.so');
  assert.equal(values['tcpx.debug'], true);
  assert.equal(values['tcpx.unpack'], 'd2d');
  assert.equal(values['tcpx.hostRecv'], true);
  assert.equal(values['bench.gpu'], 3);
  const { values: control } = loadConfig({ environment: { UCCL_TCPX_CTRL_PORT: '28900' } });
  assert.equal(control['session.port'], 28_900);
});

test('config: an empty variable counts as absent', () => {
  assert.equal(originOf({ environment: { NIXL_TCPX_FLOW_CHUNK_BYTES: '' } }), 'default');
});

test('config: a value outside its type or range is refused, wherever it comes from', () => {
  const bad: readonly ConfigSources[] = [
    { flags: { 'flow.chunkBytes': '4095' } },
    { flags: { 'flow.chunkBytes': '17MiB' } },
    { flags: { 'flow.channels': '1.5' } },
    { flags: { 'flow.channels': '-1' } },
    { flags: { 'flow.channels': ' 1' } },
    { flags: { 'flow.channels': '0x10' } },
    { flags: { 'bench.op': 'WRITE' } },
    { options: { 'flow.channels': Number.NaN } },
    { options: { 'flow.channels': 17 } },
    { environment: { NIXL_TCPX_SESSION_PORT: 'http' } },
  ];
  for (const sources of bad) {
    assert.equal(codeOf(sources), 'ERR_CONFIG_VALUE', JSON.stringify(sources));
  }
});

test('config: both bounds of a range are allowed', () => {
  for (const text of ['4096', '16MiB'])
    assert.equal(codeOf({ flags: { 'flow.chunkBytes': text } }), 'none');
  for (const text of ['0', '65535'])
    assert.equal(codeOf({ flags: { 'session.port': text } }), 'none');
});

test('config: the refusal names setting, value, origin and range', () => {
  assert.throws(
    () => loadConfig({ environment: { NIXL_TCPX_SESSION_PORT: '70000' } }),
    (error: unknown) => {
      assert.ok(isTcpxError(error, 'ERR_CONFIG_VALUE'));
      assert.deepEqual(error.facts, {
        name: 'session.port',
        value: '70000',
        origin: 'environment NIXL_TCPX_SESSION_PORT',
        allowed: '0 … 65535',
      });
      return true;
    },
  );
});

test('config: settings that exclude each other are refused', () => {
  const lanes = { 'lane.progress': 'caller', 'lane.count': '2' };
  assert.equal(codeOf({ flags: lanes }), 'ERR_CONFIG_CONFLICT');
  assert.equal(codeOf({ flags: { ...lanes, 'lane.count': '1' } }), 'none');
  const blocks = { 'bench.sizeBytes': '1M', 'bench.blockBytes': '2M' };
  assert.equal(codeOf({ flags: blocks }), 'ERR_CONFIG_CONFLICT');
  assert.equal(codeOf({ flags: { ...blocks, 'bench.blockBytes': '1M' } }), 'none');
});

test('config: the process environment is read where asked for', () => {
  assert.equal(processEnvironment()['PATH'], process.env['PATH']);
});

test('config: unknown names are refused, with the one that was meant', () => {
  const cases: readonly (readonly [ConfigSources, RegExp])[] = [
    [{ environment: { NIXL_TCPX_FLOW_CHANELS: '2' } }, /did you mean NIXL_TCPX_FLOW_CHANNELS\?/],
    [{ environment: { NIXL_TCPX_COLOUR: 'red' } }, /NIXL_TCPX_COLOUR: there is no setting[^;]*$/],
    [{ options: { 'flow.chanels': 2 } as never }, /flow\.chanels .*did you mean flow\.channels\?/],
    [{ flags: { 'flow.chunkbytes': '8K' } as never }, /did you mean flow\.chunkBytes\?/],
  ];
  for (const [sources, expected] of cases) {
    assert.throws(() => loadConfig(sources), { code: 'ERR_CONFIG_UNKNOWN', message: expected });
  }
  // Empty means absent, and what does not begin with our prefix is not ours to judge.
  const fine = { NIXL_TCPX_COLOUR: '', NIXL_TELEMETRY_ENABLE: 'true', UCCL_TCPX_UNKNOWN: '1' };
  assert.equal(codeOf({ environment: fine }), 'none');
});
