import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChoiceTallies, formatTallies } from './choice-tally.js';

const OF_THE_SESSION = { name: 'lane.count', value: '2', reason: 'auto: 2 CPUs' };

function receipt(lanes: string, way: string, durationUs: number, operation = 'write' as const) {
  const reason = 'auto: found out';
  const own = [
    { name: 'lanes', value: lanes, reason },
    { name: 'socket.sendBy', value: way, reason },
  ];
  return { operation, choices: [OF_THE_SESSION, ...own], bytes: 1_000_000, durationUs };
}

test('choice tally: transfers by what they were given, the most frequent first, and when', () => {
  const tallies = new ChoiceTallies();
  tallies.add(receipt('1', 'copy', 400));
  for (let index = 0; index < 3; index++) tallies.add(receipt('2', 'splice', 100));
  tallies.add(receipt('1', 'copy', 600));
  assert.deepEqual(tallies.all(), [
    {
      ...{ operation: 'write', choices: { lanes: '2', 'socket.sendBy': 'splice' } },
      ...{ transfers: 3, gigabytesPerSecond: 10, first: 1, last: 3 },
    },
    {
      ...{ operation: 'write', choices: { lanes: '1', 'socket.sendBy': 'copy' } },
      ...{ transfers: 2, gigabytesPerSecond: 2, first: 0, last: 4 },
    },
  ]);
  const text = '2 lanes, splice: 3 of 5 at 10.00 GB/s; 1 lane, copy: 2 of 5 at 2.00 GB/s';
  assert.equal(formatTallies(tallies.all()), text);
});

test('choice tally: both directions are told apart, since each learns by itself', () => {
  const tallies = new ChoiceTallies();
  tallies.add(receipt('1', 'copy', 100));
  tallies.add({ ...receipt('1', 'copy', 200), operation: 'read' });
  const text = 'write, 1 lane, copy: 1 of 2 at 10.00 GB/s; read, 1 lane, copy: 1 of 2 at 5.00 GB/s';
  assert.equal(formatTallies(tallies.all()), text);
});

test('choice tally: what somebody set is no choice', () => {
  const tallies = new ChoiceTallies();
  const byHand = { name: 'socket.sendBy', value: 'copy', reason: 'flag --send-by' };
  const choices = [OF_THE_SESSION, byHand];
  tallies.add({ operation: 'write', choices, bytes: 1, durationUs: 1 });
  assert.deepEqual(tallies.all(), []);
});
