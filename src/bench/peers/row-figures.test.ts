// Rows as the programs print them; those that Debian has are run where they are installed.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { freePort } from '../../../test/support/etcd-server.js';
import { isInstalled } from '../../base/installed.js';
import {
  libfabric,
  parseLibfabric,
  parseNcclTests,
  parseNixlbench,
  parseSockperf,
  runRowPeer,
  sockperf,
} from './row-figures.js';

test('peers: figures are found in their rows, and nothing in other words', () => {
  const latency =
    'sockperf: Summary: Latency is 9.865 usec\n' +
    'sockperf: ---> percentile 75.000 =    7.461\nsockperf: ---> percentile 50.000 =    7.170\n';
  assert.deepEqual(parseSockperf(latency), { halfTripUs: 7.17 });
  const rows =
    'bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n' +
    '64m     20      =20      1.2g        0.27s   4968.10   13508.00       0.00\n';
  assert.deepEqual(parseLibfabric(rows, true), { bytesPerSecond: 4968.1e6 });
  assert.deepEqual(parseLibfabric(rows, false), { halfTripUs: 13_508 });
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
  assert.equal(parseLibfabric('usage\n', true), undefined);
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

for (const program of ['sockperf', 'fi_pingpong'] as const) {
  test(`peers: ${program} itself gives half a round trip`, async (t) => {
    if (!isInstalled(program, process.env)) {
      t.skip(`needs ${program}`);
      return;
    }
    const shape = { port: await freePort(), sizeBytes: 4096, seconds: 1 };
    const peer = program === 'sockperf' ? sockperf(shape) : libfabric(program, shape, 100);
    const { halfTripUs = 0 } = await runRowPeer(peer, new AbortController().signal);
    assert.ok(halfTripUs > 1 && halfTripUs < 1e5, String(halfTripUs));
  });
}

test('peers: a server that is slow to come is asked again', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-peer-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const come = join(folder, 'come');
  const script = `test -e ${come} || { touch ${come}; echo 'Connection refused' >&2; exit 1; }`;
  const peer = {
    server: ['sleep', '10'],
    client: ['sh', '-c', `${script}; echo 'percentile 50.000 = 7.5'`],
    packageName: 'none',
    environment: {},
    parse: parseSockperf,
  };
  const { signal } = new AbortController();
  assert.deepEqual(await runRowPeer(peer, signal), { halfTripUs: 7.5 });
});
