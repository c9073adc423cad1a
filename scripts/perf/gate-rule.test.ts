import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeGate } from './gate-rule.js';

const store = {
  schema: 'tcpx.perf-gate/1',
  ratios: { write: 1, read: 0.9 },
  measuredOn: '',
} as const;
const verdicts = (write: readonly number[], read: readonly number[]) =>
  judgeGate(store, { write, read }).map(({ isMet }) => isMet);

test('gate: one good round is enough, and a loss in all of them is not noise', () => {
  assert.deepEqual(verdicts([0.2, 0.95, 0.3], [0.9]), [true, true]);
  assert.deepEqual(verdicts([0.5, 0.55, 0.4], [0.9]), [false, true]);
  assert.deepEqual(verdicts([1.4], [0.53]), [true, false]);
});

test('gate: what was not measured has not passed', () => {
  assert.deepEqual(verdicts([1], []), [true, false]);
});
