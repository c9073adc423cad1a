import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeDevmem } from './devmem-counters.js';

test('counter rule: data without device-memory packets is a failed run', () => {
  assert.equal(judgeDevmem(5, 5, 1000, false).verdict, 'failed');
  assert.equal(judgeDevmem(5, 9, 1000, false).verdict, 'good');
  assert.equal(judgeDevmem(5, 5, 0, false).verdict, 'good');
});

test('counter rule: host receives must have none', () => {
  assert.equal(judgeDevmem(5, 5, 1000, true).verdict, 'good');
  assert.equal(judgeDevmem(5, 6, 1000, true).verdict, 'failed');
});

test('counter rule: a NIC without the counter proves nothing', () => {
  assert.deepEqual(judgeDevmem(-1, -1, 1000, false), {
    verdict: 'unknown',
    packets: -1,
    reason: 'no rx_devmem_pkts on these NICs',
  });
});
