import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBenchDocument } from './bench-document.js';
import { pairInterrupts } from './interrupt-pair.js';
import { bestBus, parseNcclTests } from './nccl-tests-table.js';
import { parsePerfLog, rateUnit } from './perf-log.js';

const ALL_REDUCE = `# nThread 1 nGpus 1 minBytes 1024 maxBytes 67108864 step: 2(factor)
# Using devices
#  Rank  0 Group  0 Pid   4242 on     node-0 device  0 [0x04] NVIDIA H100 80GB HBM3
# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)
 33554432 8388608 float sum -1 3200.5 10.48 19.66 0 3300.1 10.17 19.06 N/A
[1,0]<stdout>: 67108864 16777216 float sum -1 6710.9 10.00 18.75 0 6400.0 10.49 19.66 0
# Out of bounds values : 0 OK
# Avg bus bandwidth : 18.7
`;

test('nccl-tests: both columns, the average, what was checked', () => {
  const tests = parseNcclTests(ALL_REDUCE);
  assert.equal(tests.rows.length, 2);
  assert.equal(tests.averageBusGBps, 18.7);
  assert.equal(tests.wrongValues, 'ok');
  assert.deepEqual(tests.ranks, [{ rank: 0, host: 'node-0', gpu: '0' }]);
  const [first] = tests.rows;
  assert.equal(first?.outOfPlace.busGBps, 19.66);
  assert.equal(first.inPlace?.wrongCount, undefined);
  assert.equal(tests.rows[1]?.inPlace?.timeUs, 6400);
  assert.deepEqual(bestBus(tests), { sizeBytes: 33554432, busGBps: 19.66 });
});

test('nccl-tests: the form of sendrecv and alltoall, and no table at all', () => {
  const row = '  1048576  262144  float  none  -1  92.1  11.38  11.38  0  90.0  11.65  11.65  0';
  assert.equal(parseNcclTests(row).rows[0]?.inPlace?.busGBps, 11.65);
  const short = '  1048576  262144  float  92.1  11.38  11.38  0';
  assert.equal(parseNcclTests(short).rows[0]?.outOfPlace.busGBps, 11.38);
  assert.deepEqual(parseNcclTests('nothing 1 2\n').rows, []);
});

test('perf log: averages, chunks, channel map, pauses; GiB printed as GB is seen', () => {
  const log = parsePerfLog(
    [
      '[PERF] GPU: 3',
      '[PERF] Iteration 0: total bytes=67108864, chunk_bytes=524288',
      '[PERF] Iter 0 time=22.0ms',
      '[DEBUG][CLIENT] chunk=6 channel=0 tag=99 size=524288 offset=3145728 pending=12/12',
      '[ChannelManager] Channel 0 → netDev 1 (eth2, PCI=0000:06:00.0, score=3)',
      '[PERF] Avg (20 iter): 22.421 ms, BW: 2.79 GB/s',
      '[77:0x5a] 812 ms: Scavenge 40.1 (50.0) -> 39.0 (50.0) MB, 12.5 / 0.0 ms (average mu = 1)',
      '[ERROR] connect refused',
    ].join('\n'),
  );
  assert.deepEqual(log.averages, [{ ms: 22.421, rate: 2.79, iterations: 20 }]);
  assert.equal(log.gpu, 3);
  assert.equal(log.totalBytes, 67108864);
  assert.deepEqual(log.channelNics, [{ channel: 0, nic: 'eth2' }]);
  const [chunk] = log.chunks;
  assert.deepEqual(
    [chunk?.role, chunk?.tag, chunk?.offset, chunk?.pending, chunk?.pendingMax],
    ['client', 99, 3145728, 12, 12],
  );
  assert.deepEqual(log.pausesMs, [12.5]);
  assert.deepEqual(log.errors, ['[ERROR] connect refused']);
  assert.equal(rateUnit(67108864, 22.421, 2.79), 'GiB/s');
  assert.equal(rateUnit(67108864, 22.421, 2.993), 'GB/s');
  assert.equal(rateUnit(67108864, 22.421, 9), undefined);
});

test('bench document: found among other lines, and a made-up one is not believed', () => {
  const document = {
    schema: 'tcpx.bench/1',
    provider: 'tcp',
    sizeBytes: 1000,
    chunkBytes: 100,
    iterations: 5,
    bandwidthGBps: { p50: 3.5 },
    config: { 'flow.windowChunks': 16 },
    kernel: { channels: [{ nic: 'lo', bytesAcked: 5040 }], nics: { lo: { rx_bytes: 5100 } } },
  };
  const log = `moving 1000 B\n${JSON.stringify(document, null, 2)}\nbye\n`;
  const facts = findBenchDocument(log);
  assert.equal(facts?.busGBps, 3.5);
  assert.equal(facts.windowBytes, 1600);
  assert.equal(facts.channels[0]?.bytesAcked, 5040);
  assert.deepEqual(facts.nics, { lo: { rx_bytes: 5100 } });
  assert.equal(findBenchDocument('{ "schema": "tcpx.bench/1", "sizeBytes": {} \n}'), undefined);
  assert.equal(findBenchDocument('{ "schema": "tcpx.bench/1", broken'), undefined);
});

const BEFORE = `           CPU0       CPU1       CPU2
 40:        100          0          7  PCI-MSIX-0000:00:04.0   0-edge      virtio0-input.0
 41:         50          5          0  PCI-MSIX-0000:00:04.0   1-edge      virtio0-output.0
 42:          9          9          9  PCI-MSIX-0000:00:04.0   2-edge      gone
`;
const AFTER = `           CPU0       CPU2       CPU3
 40:        160          7         12  PCI-MSIX-0000:00:04.0   0-edge      virtio0-input.0
 41:         10          0          0  PCI-MSIX-0000:00:04.0   1-edge      virtio0-output.0
 43:          1          0          0  PCI-MSIX-0000:00:04.0   3-edge      new
`;

test('interrupt pair: CPUs that came or went do not make growth or a reset', () => {
  const pair = pairInterrupts(BEFORE, AFTER);
  assert.deepEqual(pair.grown, new Map([[40, new Map([[0, 60]])]]));
  assert.deepEqual(pair.resetIrqs, [41]);
  assert.deepEqual(pair.newIrqs, [43]);
  assert.deepEqual(pair.goneIrqs, [42]);
  assert.deepEqual(pair.cpusAppeared, [3]);
  assert.deepEqual(pair.cpusGone, [1]);
});
