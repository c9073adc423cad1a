import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffTraces, parseTrace } from './trace-file.js';
import { summarizeTrace } from './trace-summary.js';

const WORKING = `1 10.0 init name=GPUDirectTCPX_v7 devices=1
2 11.0 properties dev=0 name=eth1 guid=0x0 speedMbps=200000
3 20.0 listen channel=0 dev=0
4 900.0 accept channel=0 polls=40
5 910.0 irecv channel=0 chunk=0 tag=1 bytes=100 offset=0 result=0
6 911.0 irecv channel=0 chunk=1 tag=2 bytes=50 offset=100 result=0
7 950.0 test channel=0 chunk=0 tag=1 bytes=100 offset=0 result=1 role=receive polls=9
8 951.0 unpack channel=0 chunk=0 tag=1 fragments=2
9 952.0 irecvConsumed channel=0 chunk=0 tag=1 bytes=100 offset=0 result=0
10 960.0 test channel=0 chunk=1 tag=2 bytes=50 offset=100 result=1 role=receive polls=1
11 961.0 unpack channel=0 chunk=1 tag=2 fragments=1
12 962.0 irecvConsumed channel=0 chunk=1 tag=2 bytes=50 offset=100 result=0
`;

test('trace: time, polls, fragments and names are no difference', () => {
  const other = WORKING.replaceAll('eth1', 'eth2')
    .replaceAll('guid=0x0', 'guid=0x1')
    .replace('polls=40', 'polls=1')
    .replace('fragments=2', 'fragments=7')
    .replace('4 900.0', '4 950.0');
  assert.equal(diffTraces(parseTrace(WORKING), parseTrace(other)), undefined);
});

test('trace: how posts and completions interleave is no difference', () => {
  const lines = WORKING.split('\n');
  const swapped = [...lines.slice(0, 5), ...lines.slice(6, 9), lines[5], ...lines.slice(9)];
  assert.equal(diffTraces(parseTrace(WORKING), parseTrace(swapped.join('\n'))), undefined);
});

test('trace: the first divergence names call, channel, field and both lines', () => {
  const failing = WORKING.replace('speedMbps=200000', 'speedMbps=100000').replace(
    /offset=100 result=1/,
    'offset=100 result=-2',
  );
  const difference = diffTraces(parseTrace(WORKING), parseTrace(failing));
  assert.deepEqual(difference, {
    indexA: 2,
    indexB: 2,
    call: 'properties',
    channel: '',
    field: 'speedMbps',
    a: '200000',
    b: '100000',
  });
});

test('trace: a trace that stops early differs where it stops', () => {
  const cut = WORKING.split('\n').slice(0, 6).join('\n');
  const difference = diffTraces(parseTrace(WORKING), parseTrace(cut));
  assert.equal(difference?.call, 'test');
  assert.deepEqual([difference.field, difference.a, difference.b], ['call', 'there', 'absent']);
  assert.equal(difference.indexA, 7);
});

test('trace: lines from a log are read, others are not', () => {
  const line = '2026-01-01 warn x trace 3 20.0 listen channel=0 dev=0';
  assert.deepEqual(parseTrace(`noise\n${line}\n`), [
    { index: 3, timeUs: 20, call: 'listen', fields: { channel: '0', dev: '0' } },
  ]);
});

test('trace: a summary counts chunks, bytes and the window, and finds no fault', () => {
  const summary = summarizeTrace(parseTrace(WORKING));
  assert.deepEqual(summary.faults, []);
  assert.deepEqual(summary.failures, []);
  assert.deepEqual(summary.channels, [
    {
      channel: '0',
      role: 'receive',
      chunks: 2,
      bytes: 150,
      highWater: 2,
      chunkUsP50: 51,
      chunkUsMax: 51,
    },
  ]);
});

test('trace: a summary names chunks that stopped, steps out of order and failed calls', () => {
  const stopped = summarizeTrace(parseTrace(WORKING.split('\n').slice(0, 9).join('\n')));
  assert.deepEqual(stopped.faults, ['channel 0, receive: tag 2 stopped after irecv']);
  const lines = WORKING.split('\n');
  const early = [...lines.slice(0, 6), lines[8], ...lines.slice(6, 8)].join('\n');
  assert.match(summarizeTrace(parseTrace(early)).faults[0] ?? '', /irecvConsumed of tag 1 out of/);
  const failed = summarizeTrace(parseTrace(WORKING.replace('result=1', 'result=-2')));
  assert.match(failed.failures[0] ?? '', /line 7: test/);
});
