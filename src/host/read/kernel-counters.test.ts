import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  parseCpuTimes,
  parseNamedCounters,
  parseNetDev,
  parseSoftirqs,
  parseSoftnetStat,
} from './kernel-counters.js';

test('counters: softirqs by name and possible CPU', () => {
  const table = parseSoftirqs(
    '        CPU0       CPU1\n  NET_RX:   5752   7306\n HRTIMER:  0  0\n',
  );
  assert.deepEqual(table.cpus, [0, 1]);
  assert.deepEqual(table.rows['NET_RX'], [5752, 7306]);
});

test('counters: softnet lines name their CPU in column 13', () => {
  const line = (cpu: string, count: number) =>
    [
      '0000001f',
      '00000002',
      '00000003',
      ...Array<string>(6).fill('00000000'),
      '00000004',
      '00000005',
      '00000006',
      cpu,
    ]
      .concat(Array<string>(count - 13).fill('00000000'))
      .join(' ');
  const rows = parseSoftnetStat(`${line('00000000', 15)}\n${line('00000007', 13)}\n`);
  assert.deepEqual(
    rows.map(({ cpu }) => cpu),
    [0, 7],
  );
  assert.deepEqual(rows[1], {
    cpu: 7,
    processed: 31,
    dropped: 2,
    timeSqueeze: 3,
    receivedRps: 4,
    flowLimitCount: 5,
    backlogLength: 6,
  });
});

test('counters: snmp and netstat by name, whatever the order', () => {
  const text = 'Ip: A B\nIp: 1 2\nTcp: InSegs MaxConn RetransSegs\nTcp: 10 -1 3\n';
  assert.deepEqual(parseNamedCounters(text, 'Tcp'), { InSegs: 10, MaxConn: -1, RetransSegs: 3 });
  assert.deepEqual(parseNamedCounters(text, 'TcpExt'), {});
});

test('counters: CPU times per CPU, guest time not counted twice', () => {
  const text = 'cpu  9 9 9 9 9 9 9 9 9 9\ncpu3 10 1 20 100 5 2 7 1 10 0\nintr 5 0 0\n';
  assert.deepEqual(parseCpuTimes(text), [
    { cpu: 3, busyTicks: 41, irqTicks: 2, softirqTicks: 7, stealTicks: 1, totalTicks: 146 },
  ]);
});

test('counters: totals of every interface from one file', () => {
  const text =
    'Inter-|   Receive                                                |  Transmit\n' +
    ' face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets ' +
    'errs drop\n' +
    '    lo: 1000 10 0 1 0 0 0 0 2000 20 0 2 0 0 0 0\n' +
    'eth1:265996882302 33053331 0 0 0 0 0 0 256121048814 5852179 0 0 0 0 0 0\n';
  const interfaces = parseNetDev(text);
  assert.deepEqual(interfaces.get('lo'), {
    rx_bytes: 1000,
    rx_packets: 10,
    rx_dropped: 1,
    tx_bytes: 2000,
    tx_packets: 20,
    tx_dropped: 2,
  });
  assert.equal(interfaces.get('eth1')?.['rx_bytes'], 265_996_882_302);
});
