// Faults whose promise is kept within a second, or that nobody may notice: alone on the machine.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testFaults } from './fault-tests.js';
import { SCENARIOS } from './scenarios.js';

const tight = SCENARIOS.filter(({ isTight }) => isTight === true);

testFaults(tight);

test('faults: some are tight, and some are left for slow-faults.test.ts', () => {
  assert.ok(tight.length > 0 && tight.length < SCENARIOS.length);
});
