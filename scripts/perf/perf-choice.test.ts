import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choosePerf } from './perf-choice.js';

const KNOWN = ['bulk', 'links'];

test('perf choice: all groups and five rounds, unless words say otherwise', () => {
  assert.deepEqual(choosePerf([], KNOWN), { rounds: 5, groups: KNOWN });
  assert.deepEqual(choosePerf(['links'], KNOWN), { rounds: 5, groups: ['links'] });
  const words = ['bulk', '--rounds', '9', 'links'];
  assert.deepEqual(choosePerf(words, KNOWN), { rounds: 9, groups: KNOWN });
});

test('perf choice: words that would run nothing are refused', () => {
  for (const words of [['bulc'], ['--rounds', '0'], ['--rounds', 'x'], ['--rounds'], ['--fast']]) {
    assert.equal(typeof choosePerf(words, KNOWN), 'string', words.join(' '));
  }
});
