import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNcclLog } from './nccl-log.js';

const LOG = [
  'node-0:100:100 [0] NCCL INFO NCCL version 2.18.5+cuda12.2',
  'node-0:100:101 [0] NCCL INFO NCCL_DYNAMIC_CHUNK_SIZE set by environment to 524288.',
  'node-0:100:101 [0] NCCL INFO NET/GPUDirectTCPX ver. 3.1.9.',
  'node-0:100:101 [0] NCCL INFO NET/GPUDirectTCPX : Using [0]eth1:10.0.1.1<0> [1]eth2:10.0.2.1<0>',
  'node-0:100:101 [0] NCCL INFO : dynamic chunk size: 524288',
  'node-0:100:101 [0] NCCL INFO Using network GPUDirectTCPX_v7',
  'node-0:100:101 [0] NCCL INFO Using NCCL_NET_DEVICE_UNPACK net plugin version 7',
  '[1,0]<stdout>:node-0:100:101 [0] NCCL INFO Channel 00/08 :    0   1   2   3',
  'node-0:100:101 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via ' +
    'NET/GPUDirectTCPX_v7/0/GDRDMA',
  'node-0:100:102 [1] NCCL INFO Channel 01/0 : 1[1] -> 0[1] [receive] via ' +
    'NET/GPUDirectTCPX_v7/1(3)',
  'node-0:100:103 [0] NCCL INFO [Proxy Progress] Device 0 CPU core 12',
  'node-0:100:103 [0] NCCL INFO Comm 0x7f00 thread 0 running on (cpu) (22)',
  'node-0:100:103 [0] NCCL INFO dev eth1, cores 22-35',
  'node-0:100:103 [0] NCCL INFO accepted  (0) [9a:10.0.1.1<4000><-10.0.1.2<5000> rx] ' +
    'through cuda, fd 55 cpu 24 napi_id 8210',
  '[2025-10-07 12:00:00] node-0:100:104 [1] net.cc:1 NCCL WARN fatal, ' +
    '10.0.2.1<4001><-10.0.2.2<5001> rx no cmsg',
  'node-0:100:104 [1] net.cc:1 NCCL WARN fatal, 10.0.2.1<4002><-10.0.2.2<5002> rx no cmsg',
  'some other line',
].join('\n');

test('nccl log: versions, devices, channels with their NIC, rings and threads', () => {
  const log = parseNcclLog(LOG);
  assert.equal(log.version, '2.18.5+cuda12.2');
  assert.equal(log.pluginVersion, '3.1.9');
  assert.equal(log.network, 'GPUDirectTCPX_v7');
  assert.equal(log.unpackVersion, '7');
  assert.equal(log.chunkBytes, 524288);
  assert.deepEqual(log.devices, ['eth1', 'eth2']);
  assert.deepEqual(log.variables, { NCCL_DYNAMIC_CHUNK_SIZE: '524288' });
  assert.deepEqual(
    log.channels.map(({ channel, from, to, direction, nic, isDirect }) => [
      ...[channel, from, to, direction, nic, isDirect],
    ]),
    [
      [0, 0, 1, 'send', 'eth1', true],
      [1, 1, 0, 'receive', 'eth2', false],
    ],
  );
  assert.deepEqual(log.rings, [{ channel: 0, ranks: [0, 1, 2, 3] }]);
  assert.deepEqual(
    log.threads.map(({ thread, device, cpu }) => [thread, device, cpu]),
    [
      ['Proxy Progress', 0, 12],
      ['helper 0', 0, 22],
    ],
  );
  assert.deepEqual(log.bindings, [{ nic: 'eth1', cores: '22-35' }]);
  const [flow] = log.flows;
  assert.deepEqual(
    [flow?.local, flow?.remote, flow?.cpu, flow?.napiId],
    [...['10.0.1.1', '10.0.1.2', 24, 8210]],
  );
});

test('nccl log: errors are grouped by host, GPU, NIC and peer', () => {
  const [event, ...more] = parseNcclLog(LOG).events;
  assert.deepEqual(more, []);
  assert.equal(event?.id, 'no-cmsg');
  assert.equal(event.count, 2);
  const place = { host: 'node-0', gpu: 1, nic: 'eth2', peer: '10.0.2.2', count: 2 };
  assert.deepEqual(event.places, [place]);
});

test('nccl log: another log has no line of it, and one without line ends is bounded', () => {
  assert.equal(parseNcclLog('hello\nworld\n').lineCount, 0);
  const started = performance.now();
  parseNcclLog('[1]'.repeat(4_000_000));
  parseNcclLog('Channel 00/0 : '.repeat(200_000));
  assert.ok(performance.now() - started < 5000);
});
