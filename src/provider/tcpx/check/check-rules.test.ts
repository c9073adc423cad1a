import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CheckLine, collectResults, RULE_IDS } from './check-rules.js';

const passed = (id: (typeof RULE_IDS)[number]): CheckLine[] => [
  { trying: id },
  { result: { id, verdict: 'pass', seen: '' } },
];

test('check rules: what ended the process is the rule that was tried, the rest is open', () => {
  const lines = [...passed('load'), ...passed('init'), { trying: 'devices' } as const];
  const results = collectResults(lines, 'its process was ended by SIGSEGV');
  assert.equal(results.length, RULE_IDS.length);
  const of = (id: string) => results.find((result) => result.id === id);
  assert.equal(of('init')?.verdict, 'pass');
  assert.deepEqual(of('devices'), {
    id: 'devices',
    verdict: 'fail',
    seen: 'its process was ended by SIGSEGV',
  });
  assert.equal(of('close')?.verdict, 'skip');
});

test('check rules: a crash over what nobody relies on is a difference', () => {
  const lines = [...passed('load'), { trying: 'group' } as const];
  const results = collectResults(lines, 'gone');
  assert.equal(results.find(({ id }) => id === 'group')?.verdict, 'differs');
});
