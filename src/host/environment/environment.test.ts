// Environments: printed and read back, compared, and judged value by value.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { A3_HIGH_RX_BINDINGS, A3_HIGH_TX_BINDINGS } from '../irq/policy.js';
import { diffEnvironments } from './difference.js';
import { environmentFor, formatExports, parseEnvironmentText } from './preset.js';
import { valueProblem } from './variables.js';

const REQUEST = {
  preset: 'reference',
  dataNics: ['eth1', 'eth2', 'eth3', 'eth4'],
  controlNic: 'eth0',
  txBindings: A3_HIGH_TX_BINDINGS,
  rxBindings: A3_HIGH_RX_BINDINGS,
  channels: 2,
} as const;

test('environment: carries both binding variables, NICs and the reference settings', () => {
  const values = environmentFor(REQUEST);
  assert.equal(values['NCCL_GPUDIRECTTCPX_TX_BINDINGS'], A3_HIGH_TX_BINDINGS);
  assert.equal(values['NCCL_GPUDIRECTTCPX_RX_BINDINGS'], A3_HIGH_RX_BINDINGS);
  assert.equal(values['NCCL_GPUDIRECTTCPX_SOCKET_IFNAME'], 'eth1,eth2,eth3,eth4');
  assert.equal(values['NCCL_SOCKET_IFNAME'], 'eth0');
  assert.equal(values['NCCL_P2P_NET_CHUNKSIZE'], '524288');
  assert.equal(values['NCCL_BUFFSIZE'], '8388608');
  assert.equal(values['UCCL_TCPX_NUM_CHANNELS'], '2');
  // Our own engine would take a number for a firm wish.
  const unasked = environmentFor({ ...REQUEST, channels: undefined });
  assert.equal(unasked['UCCL_TCPX_NUM_CHANNELS'], undefined);
  for (const [name, value] of Object.entries(values)) {
    assert.equal(valueProblem(name, value), undefined, name);
  }
});

test('environment: export lines read back to the same values, whatever they hold', () => {
  const name = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,12}$/);
  const value = fc
    .string({ unit: fc.constantFrom(...Array.from('abc;,:-\'"$ #=!\\')) })
    .map((s) => s.trim());
  fc.assert(
    fc.property(fc.dictionary(name, value), (values) => {
      assert.deepEqual(parseEnvironmentText(formatExports(values)), { ...values });
    }),
  );
});

test('environment: reads the NUL-separated form of a process, newlines included', () => {
  assert.deepEqual(parseEnvironmentText('A=1\0B=two\nlines\0'), { A: '1', B: 'two\nlines' });
});

test('env diff: equal cores in another order are no difference', () => {
  const left = { NCCL_GPUDIRECTTCPX_TX_BINDINGS: 'eth1:8-21,112-125;eth2:1-2' };
  const right = { NCCL_GPUDIRECTTCPX_TX_BINDINGS: 'eth2:1-2;eth1:112-125,8-10,11-21' };
  assert.deepEqual(diffEnvironments(left, right), []);
});

test('env diff: says what each difference means, path before speed before placement', () => {
  const left = environmentFor(REQUEST);
  const right = {
    ...environmentFor({ ...REQUEST, preset: 'a3-high' }),
    NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX: '/tmp',
    NCCL_GPUDIRECTTCPX_RX_BINDINGS: A3_HIGH_RX_BINDINGS.replace('126-139', '124-139'),
    NCCL_GPUDIRECTTCPX_TX_IRQ_BINDINGS: 'eth1:1-2',
    NCCL_SOCKET_NTHREADS: '9',
    HOME: '/root',
  };
  const found = diffEnvironments(left, right);
  const byName = new Map(found.map((difference) => [difference.name, difference]));
  assert.equal(found[0]?.name, 'NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX');
  assert.match(byName.get('NCCL_GPUDIRECTTCPX_RX_BINDINGS')?.meaning ?? '', /eth1 gains 124-125/);
  assert.match(byName.get('NCCL_GPUDIRECTTCPX_TX_IRQ_BINDINGS')?.meaning ?? '', /no effect/);
  assert.match(byName.get('NCCL_SOCKET_NTHREADS')?.problems[0] ?? '', /none is left/);
  assert.match(byName.get('NCCL_MIN_NCHANNELS')?.meaning ?? '', /not set means by topology/);
  assert.equal(byName.has('HOME'), false);
});

const BAD_VALUES = [
  ['NCCL_DYNAMIC_CHUNK_SIZE', '0'],
  ['NCCL_SOCKET_NTHREADS', '16'],
  ['NCCL_NSOCKS_PERTHREAD', '0'],
  ['NCCL_GPUDIRECTTCPX_CONNECTION_RETRY', '0'],
  ['NCCL_GPUDIRECTTCPX_FLOW_STEERING_STRATEGY', '0'],
  ['NCCL_USE_DMA_BUF', 'yes'],
] as const;

for (const [name, value] of BAD_VALUES) {
  test(`environment: ${name}=${value} is reported`, () => {
    assert.notEqual(valueProblem(name, value), undefined);
  });
}
