import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coreWaitMs } from './core-wait.js';

test('core wait: a number for a living process, unknown for none', () => {
  const waited = coreWaitMs(process.pid);
  assert.ok(waited !== undefined && waited >= 0, `${waited}`);
  assert.equal(coreWaitMs(2 ** 22 + 1), undefined);
});
