import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeDevmem, type NicIntake } from './devmem-verdict.js';

const intake = (nic: string, bytes: number, packets: number): NicIntake => ({
  nic,
  bytes,
  packets,
});
const eth1 = [intake('eth1', 0, 5)];

test('counter rule: data without device-memory packets is a failed run', () => {
  assert.equal(judgeDevmem(eth1, [intake('eth1', 1000, 5)], false).verdict, 'failed');
  assert.equal(judgeDevmem(eth1, [intake('eth1', 1000, 9)], false).verdict, 'good');
  assert.equal(judgeDevmem(eth1, [intake('eth1', 0, 5)], false).verdict, 'good');
});

test('counter rule: host receives must have none', () => {
  assert.equal(judgeDevmem(eth1, [intake('eth1', 1000, 5)], true).verdict, 'good');
  assert.equal(judgeDevmem(eth1, [intake('eth1', 1000, 6)], true).verdict, 'failed');
});

test('counter rule: a NIC that stood still does not hide behind one that counted', () => {
  const before = [intake('eth1', 0, 100), intake('eth2', 0, 7), intake('eth3', 0, 0)];
  const after = [intake('eth1', 4096, 900), intake('eth2', 4096, 7), intake('eth3', 0, 0)];
  const { verdict, packets, reason, nics } = judgeDevmem(before, after, false);
  assert.equal(verdict, 'failed');
  assert.equal(packets, 800);
  assert.equal(reason, 'eth2: data arrived, but not through device memory');
  assert.deepEqual(
    nics.map(({ nic, bytes, packets: own, verdict: one }) => [nic, bytes, own, one]),
    [
      ['eth1', 4096, 800, 'good'],
      ['eth2', 4096, 0, 'failed'],
      ['eth3', 0, 0, 'idle'],
    ],
  );
});

test('counter rule: a NIC without the counter proves nothing, and is named', () => {
  const { verdict, packets, reason } = judgeDevmem(
    [intake('eth1', 0, 1), intake('eth2', 0, -1)],
    [intake('eth1', 10, 2), intake('eth2', 10, -1)],
    false,
  );
  assert.equal(verdict, 'unknown');
  assert.equal(packets, -1);
  assert.equal(reason, 'eth2: no rx_devmem_pkts');
  assert.equal(judgeDevmem([], [], false).verdict, 'unknown');
});

test('counter rule: what failed is not excused by what is unknown', () => {
  const before = [intake('eth1', 0, 1), intake('eth2', 0, -1)];
  const after = [intake('eth1', 10, 1), intake('eth2', 10, -1)];
  assert.equal(judgeDevmem(before, after, false).verdict, 'failed');
});
