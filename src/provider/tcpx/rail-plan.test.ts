import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTcpxError } from '../../base/errors.js';
import { hostVariables, libraryPath } from './host-environment.js';
import { loadConfig } from '../../base/config.js';
import {
  channelNics,
  checkWindows,
  groupRails,
  namedNics,
  parseWeights,
  railsOf,
} from './rail-plan.js';

const isConfigError = (error: unknown): boolean => isTcpxError(error, 'ERR_CONFIG_VALUE');

test('rails: names as given, whatever they are; exclusions ask the plugin', () => {
  assert.deepEqual(namedNics('eth2'), ['eth2']);
  assert.deepEqual(namedNics('=nicA,ens1'), ['nicA', 'ens1']);
  assert.deepEqual(namedNics('^eth0'), []);
  assert.deepEqual(namedNics(''), []);
});

test('rails: the GPU behind each NIC, 0 where none is said', () => {
  assert.deepEqual(railsOf(['eth1', 'eth2'], 'eth2=4'), [
    { nic: 'eth1', gpu: 0 },
    { nic: 'eth2', gpu: 4 },
  ]);
  assert.throws(() => railsOf(['eth1'], 'eth1'), isConfigError);
  assert.throws(() => railsOf(['eth1'], 'eth1=x'), isConfigError);
});

test('rails: processes by rail, by GPU, or one for all', () => {
  const rails = railsOf(['eth1', 'eth2', 'eth3'], 'eth1=0,eth2=0,eth3=2');
  const names = (processes: 'rail' | 'one' | 'gpu'): string[] =>
    groupRails(rails, processes).map(({ name, gpu }) => `${name} on ${gpu}`);
  assert.deepEqual(names('rail'), ['eth1 on 0', 'eth2 on 0', 'eth3 on 2']);
  assert.deepEqual(names('gpu'), ['eth1+eth2 on 0', 'eth3 on 2']);
  assert.deepEqual(names('one'), ['eth1+eth2+eth3 on 0']);
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
  assert.equal(variables['TCPX_EMU_SAME_HOST'], undefined);
  const allowed = hostVariables({ ...facts, isSameHostAllowed: true }, inherited);
  assert.equal(allowed['TCPX_EMU_SAME_HOST'], '1');
});
