import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMapped } from '../../../test/support/process-resources.js';
import { releaseScratch, SCRATCH_BYTES, scratchAddr } from './scratch.js';

test('scratch: what a thread needed for its calls is unmapped when it says that it ends', () => {
  assert.ok(isMapped(scratchAddr) && isMapped(scratchAddr + SCRATCH_BYTES - 1));
  releaseScratch();
  assert.ok(!isMapped(scratchAddr));
});
