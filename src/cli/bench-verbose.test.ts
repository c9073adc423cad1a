// What --verbose tells: variables of the plugin, interrupts of the NICs, threads and channels.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighTree } from '../../test/support/a3-high-host.js';
import { benchResult } from '../../test/support/bench-result.js';
import { loadConfig } from '../base/config.js';
import { openTreeFiles } from '../host/read/tree-files.js';
import { verboseEnd, verboseStart } from './bench-verbose.js';
import { meshVerboseStart } from './mesh-verbose.js';

test('verbose, at the start: variables in their order, core ranges, where interrupts go', () => {
  const environment = {
    NCCL_GPUDIRECTTCPX_TX_BINDINGS: 'eth1:8-21',
    NCCL_GPUDIRECTTCPX_CTRL_DEV: 'eth0',
    HOME: '/root',
  };
  const config = loadConfig({ flags: { 'lane.bindings': 'eth1:8-9' } });
  const lines = verboseStart(config, environment, openTreeFiles(a3HighTree(), '/'));
  assert.equal(lines[0], 'NCCL_GPUDIRECTTCPX_CTRL_DEV=eth0');
  assert.equal(lines[1], 'NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:8-21');
  assert.ok(lines.includes('core ranges of lanes: eth1:8-9'));
  assert.ok(
    lines.some((line) => /^irq \d+ of eth1: CPUs \S+/.test(line)),
    lines.join('\n'),
  );
  assert.equal(lines.join('\n').includes('HOME'), false);
});

test('verbose, without any of them: says so', () => {
  const config = loadConfig({ flags: { 'lane.count': '1', 'flow.channels': '1' } });
  assert.deepEqual(verboseStart(config, {}, openTreeFiles(new Map(), '/')), [
    'no NCCL_GPUDIRECTTCPX_ variable is set',
    'core ranges of lanes: none',
    'interrupts of NICs: none can be read here',
    'lane 0: any CPU',
    'channel 0: as routing decides',
  ]);
});

test('verbose, at the end: thread to CPU, NIC to channel', () => {
  const receipt = { channels: [{ channel: 0, nic: 'eth1', bytes: 1, chunks: 1 }] };
  const result = benchResult(5, { laneCpus: [{ cpu: 9, pinnedTo: [8, 9] }], receipt });
  assert.deepEqual(verboseEnd(result), ['lane 0: CPU 9, of 8-9', 'channel 0: eth1']);
});

test('verbose, of a worker: interrupts of its NIC alone, its lanes and channels', () => {
  const flags = { 'lane.bindings': 'eth1:8-9;eth2:10-11', 'flow.channels': '2' };
  const files = openTreeFiles(a3HighTree(), '/');
  const lines = meshVerboseStart(
    loadConfig({ flags: { ...flags, 'lane.count': '1' } }),
    [
      { gpu: 0, nic: 'eth1', reason: '' },
      { gpu: 2, nic: 'eth2', reason: '' },
    ],
    { NCCL_GPUDIRECTTCPX_FORCE_ACK: '0' },
    files,
  );
  for (const [gpu, nic, cpus] of [
    [0, 'eth1', '8-9'],
    [2, 'eth2', '10-11'],
  ] as const) {
    const own = lines.filter((line) => line.startsWith(`GPU ${gpu}: `)).join('\n');
    assert.match(own, /NCCL_GPUDIRECTTCPX_FORCE_ACK=0/);
    assert.match(own, new RegExp(`irq \\d+ of ${nic}: CPUs`));
    assert.doesNotMatch(own, new RegExp(`of ${nic === 'eth1' ? 'eth2' : 'eth1'}: CPUs`));
    assert.match(own, new RegExp(`lane 0: CPUs ${cpus}$`, 'm'));
    assert.match(own, new RegExp(`channel 1: ${nic}$`, 'm'));
  }
});
