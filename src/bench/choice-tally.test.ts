import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChoiceTallies, formatTallies } from './choice-tally.js';

const choice = (name: string, value: string, reason = 'auto: found out') => {
  return { name, value, reason };
};
const OF_THE_SESSION = choice('lane.count', '2', 'auto: 2 CPUs');

test('choice tally: transfers by what they were given, the most frequent first, and when', () => {
  const tallies = new ChoiceTallies();
  const give = (lanes: string, way: string, durationUs: number): void => {
    const own = [choice('lanes', lanes), choice('socket.sendBy', way)];
    tallies.add([OF_THE_SESSION, ...own], 1_000_000, durationUs);
  };
  give('1', 'copy', 400);
  for (let index = 0; index < 3; index++) give('2', 'splice', 100);
  give('1', 'copy', 600);
  assert.deepEqual(tallies.all(), [
    {
      ...{ choices: { lanes: '2', 'socket.sendBy': 'splice' }, transfers: 3 },
      ...{ gigabytesPerSecond: 10, first: 1, last: 3 },
    },
    {
      ...{ choices: { lanes: '1', 'socket.sendBy': 'copy' }, transfers: 2 },
      ...{ gigabytesPerSecond: 2, first: 0, last: 4 },
    },
  ]);
  const text = '2 lanes, splice: 3 of 5 at 10.00 GB/s; 1 lane, copy: 2 of 5 at 2.00 GB/s';
  assert.equal(formatTallies(tallies.all()), text);
});

test('choice tally: what somebody set is no choice', () => {
  const tallies = new ChoiceTallies();
  const byHand = choice('socket.sendBy', 'copy', 'flag --send-by');
  tallies.add([OF_THE_SESSION, byHand], 1, 1);
  assert.deepEqual(tallies.all(), []);
});
