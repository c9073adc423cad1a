import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../base/config.js';
import { isTcpxError } from '../../base/errors.js';
import { hostVariables, libraryPath } from './host-environment.js';
import {
  channelNics,
  checkWindows,
  groupRails,
  namedNics,
  parseWeights,
  planRails,
  type RailWish,
} from './rail-plan.js';

const isConfigError = (error: unknown): boolean => isTcpxError(error, 'ERR_CONFIG_VALUE');

test('rails: names as given, whatever they are; exclusions ask the plugin', () => {
  assert.deepEqual(namedNics('eth2'), ['eth2']);
  assert.deepEqual(namedNics('=nicA,ens1'), ['nicA', 'ens1']);
  assert.deepEqual(namedNics('^eth0'), []);
  assert.deepEqual(namedNics(''), []);
});

const A3_HIGH = new Map([
  ['eth0', []],
  ['eth1', [0, 1]],
  ['eth2', [2, 3]],
  ['eth3', [4, 5]],
  ['eth4', [6, 7]],
]);

const planned = (wish: Partial<RailWish>): string =>
  planRails({ nics: [], gpu: undefined, nicGpus: A3_HIGH, railGpus: '', ...wish })
    .map(({ nic, gpu }) => `${nic}=${gpu}`)
    .join();

test('rails: without a tree the wished GPU or 0, and pairs by hand', () => {
  const nics = ['eth1', 'eth2'];
  assert.equal(planned({ nics, nicGpus: undefined, railGpus: 'eth2=4' }), 'eth1=0,eth2=4');
  assert.equal(planned({ nics, nicGpus: undefined, gpu: 3 }), 'eth1=3,eth2=3');
  assert.equal(planned({ nicGpus: undefined }), '', 'the plugin is asked');
  assert.throws(() => planned({ railGpus: 'eth1' }), isConfigError);
  assert.throws(() => planned({ railGpus: 'eth1=x' }), isConfigError);
});

test('rails: by the tree, the NIC of each GPU and the GPU of each NIC', () => {
  const nics = ['eth1', 'eth2', 'eth3', 'eth4'];
  for (let gpu = 0; gpu < 8; gpu++) {
    const own = `eth${Math.floor(gpu / 2) + 1}=${gpu}`;
    assert.equal(planned({ gpu }), own);
    const all = nics.map((nic, index) => (own.startsWith(nic) ? own : `${nic}=${index * 2}`));
    assert.equal(planned({ gpu, nics }), all.join());
  }
  assert.equal(planned({}), 'eth1=0,eth2=2,eth3=4,eth4=6', 'no GPU is meant: every rail');
  assert.equal(planned({ nics: ['eth3'] }), 'eth3=4');
  assert.equal(planned({ nics: ['emu7'], gpu: 2 }), 'emu7=2', 'a NIC that the tree does not know');
});

test('rails: a pair that cannot work is refused with the reason, unless named by hand', () => {
  const isConflict = (pattern: RegExp) => (error: unknown) =>
    isTcpxError(error, 'ERR_CONFIG_CONFLICT') && pattern.test(error.message);
  const far = { nics: ['eth2', 'eth3'], gpu: 0 };
  const said = /GPU 0 is not behind eth2, eth3 .*eth1 has GPU 0 and 1.*rx no cmsg.*--rail-gpus/;
  assert.throws(() => planned(far), isConflict(said));
  assert.throws(() => planned({ gpu: 8 }), isConflict(/GPU 8 is not behind any NIC/));
  assert.throws(() => planned({ nics: ['eth0'] }), isConflict(/eth0: no GPU is behind it/));
  assert.throws(() => planned({ nics: ['eth1', 'eth0'], gpu: 0 }), isConflict(/eth0: no GPU/));
  assert.equal(planned({ ...far, railGpus: 'eth2=0' }), 'eth2=0,eth3=4');
  assert.equal(planned({ nics: ['eth0'], railGpus: 'eth0=1' }), 'eth0=1');
});

test('rails: processes by rail, by GPU, or one for all', () => {
  const rails = planRails({
    nics: ['eth1', 'eth2', 'eth3'],
    gpu: undefined,
    nicGpus: undefined,
    railGpus: 'eth1=0,eth2=0,eth3=2',
  });
  const names = (processes: 'rail' | 'one' | 'gpu'): string[] =>
    groupRails(rails, processes).map(({ name, gpu }) => `${name} on ${gpu}`);
  assert.deepEqual(names('rail'), ['eth1 on 0', 'eth2 on 0', 'eth3 on 2']);
  assert.deepEqual(names('gpu'), ['eth1+eth2 on 0', 'eth3 on 2']);
  assert.deepEqual(
    groupRails(rails.slice(0, 2), 'one').map(({ name, gpu }) => `${name} on ${gpu}`),
    ['eth1+eth2 on 0'],
  );
  // A process has one GPU: the far NIC would end the plugin.
  assert.throws(
    () => names('one'),
    (error: unknown) => isTcpxError(error, 'ERR_CONFIG_CONFLICT') && /eth3=2/.test(error.message),
  );
});

test('rails: channels go round-robin, at least one per NIC', () => {
  assert.deepEqual(channelNics(['a', 'b'], 1), ['a', 'b']);
  assert.deepEqual(channelNics(['a', 'b'], 4), ['a', 'b', 'a', 'b']);
});

test('rails: weights are one integer per channel', () => {
  assert.deepEqual(parseWeights('', 2), [1, 1]);
  assert.deepEqual(parseWeights('3,1', 2), [3, 1]);
  for (const text of ['3', '3,x', '1,-1'])
    assert.throws(() => parseWeights(text, 2), isConfigError);
});

test('rails: a window above the plugin’s pool is refused, by the name that set it', () => {
  for (const variable of ['UCCL_TCPX_WINDOW_SIZE', 'UCCL_TCPX_MAX_RECV_INFLIGHT']) {
    const { values } = loadConfig({ environment: { [variable]: '17' } });
    assert.throws(
      () => checkWindows(values),
      (error: unknown) =>
        isConfigError(error) && new RegExp(`17 .* pool of 16 .*${variable}`).test(String(error)),
    );
    checkWindows(loadConfig({ environment: { [variable]: '16' } }).values);
  }
  const { values } = loadConfig({ flags: { 'tcpx.recvWindow': '32' } });
  assert.throws(() => checkWindows(values), /32 in flight .* pool of 16 .*--recv-window, --window/);
});

test('host environment: the library path has a fixed order and no folder twice', () => {
  assert.equal(
    libraryPath('/opt/x/libnccl-net.so', '/usr/local/nvidia/lib64:/lib'),
    '/opt/x:/usr/local/tcpx/lib64:/usr/local/nvidia/lib64:/lib',
  );
  assert.equal(libraryPath('', ''), '/usr/local/tcpx/lib64:/usr/local/nvidia/lib64');
});

test('host environment: what the plugin must be told, over what the user has set', () => {
  const facts = {
    nics: ['eth2'],
    gpu: 3,
    chunkBytes: 524_288,
    sockets: 2,
    threads: 1,
    steeringWaitUs: 50_000,
    ctrlInterface: 'eth0',
    unixPrefix: '',
    txBindings: 'eth2:4-7',
    pluginPath: '',
    isSameHostAllowed: false,
  };
  const inherited = {
    NCCL_DEBUG: 'INFO',
    NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX: '/run/tcpx',
    NCCL_DYNAMIC_CHUNK_SIZE: '0',
  };
  const variables = hostVariables(facts, inherited);
  assert.equal(variables['NCCL_DYNAMIC_CHUNK_SIZE'], '524288', 'never the default that stalls');
  assert.equal(variables['NCCL_GPUDIRECTTCPX_SOCKET_IFNAME'], '=eth2');
  assert.equal(variables['NCCL_GPUDIRECTTCPX_CTRL_DEV'], 'eth0');
  assert.equal(variables['NCCL_GPUDIRECTTCPX_PROGRAM_FLOW_STEERING_WAIT_MICROS'], '50000');
  assert.equal(variables['NCCL_GPUDIRECTTCPX_TX_BINDINGS'], 'eth2:4-7');
  assert.equal(variables['NCCL_DEBUG'], 'INFO');
  assert.equal(variables['NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX'], '/run/tcpx');
  const prefixes = ['off', '/run/other'].map((unixPrefix) => {
    const { NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX: prefix } = hostVariables(
      { ...facts, unixPrefix },
      inherited,
    );
    return prefix;
  });
  assert.deepEqual(prefixes, [undefined, '/run/other']);
  assert.equal(variables['TCPX_EMU_SAME_HOST'], undefined);
  const allowed = hostVariables({ ...facts, isSameHostAllowed: true }, inherited);
  assert.equal(allowed['TCPX_EMU_SAME_HOST'], '1');
});
