// Rows as the programs print them; none of them need be installed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  parseFabtests,
  parseNcclTests,
  parseNixlbench,
  parseSockperf,
  runRowPeer,
} from './row-figures.js';

test('peers: figures are found in their rows, and nothing in other words', () => {
  assert.deepEqual(parseSockperf('sockperf: Summary: Latency is 9.875 usec\n'), {
    halfTripUs: 9.875,
  });
  const fabtests =
    'bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n' +
    '64m     20      =20      1.2g        0.27s   4968.10   13508.00       0.00\n';
  assert.deepEqual(parseFabtests(fabtests, true), { bytesPerSecond: 4968.1e6 });
  assert.deepEqual(parseFabtests(fabtests, false), { halfTripUs: 13_508 });
  const nccl =
    '#  size  count  type  redop  root  time  algbw  busbw #wrong\n' +
    '  67108864      16777216     float    none      -1    17203    3.90    3.90    N/A\n';
  assert.deepEqual(parseNcclTests(nccl), { bytesPerSecond: 3.9e9 });
  const nixl =
    'Block Size (B)  Batch Size  B/W (GB/Sec)  Avg Lat. (us)\n' +
    '67108864        1           2.951000      22740.0        3.1\n';
  assert.deepEqual(parseNixlbench(nixl), { bytesPerSecond: 2.951e9 });
  for (const parse of [parseSockperf, parseNcclTests, parseNixlbench]) {
    assert.equal(parse('usage: none of that\n'), undefined);
  }
  assert.equal(parseFabtests('usage\n', true), undefined);
});

test('peers: one that prints no figures is named with its last line', async () => {
  const peer = {
    server: [],
    client: ['echo', 'no etcd'],
    packageName: 'none',
    environment: {},
    parse: parseNixlbench,
  };
  const { signal } = new AbortController();
  await assert.rejects(runRowPeer(peer, signal), { message: /^echo: no figures in no etcd$/ });
});
