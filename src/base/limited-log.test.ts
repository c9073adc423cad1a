import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LimitedLog, WARNINGS_PER_SECOND } from './limited-log.js';
import { createLog } from './log.js';

test('limited log: so many lines a second, then a count of what was left out', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'warn', format: 'text', write: (line) => lines.push(line) });
  let nowUs = 0;
  const limited = new LimitedLog(log, { nowUs: () => nowUs });
  for (let index = 0; index < 1000; index++) limited.warn('peer refused', { index });
  assert.equal(lines.length, WARNINGS_PER_SECOND);
  nowUs = 999_999;
  limited.warn('peer refused', {});
  assert.equal(lines.length, WARNINGS_PER_SECOND);
  nowUs = 1_000_000;
  limited.warn('peer refused', { peer: 'b' });
  assert.match(lines.at(-1) ?? '', /peer=b suppressed=981/);
  limited.warn('peer refused', { peer: 'c' });
  assert.doesNotMatch(lines.at(-1) ?? '', /suppressed/);
});
