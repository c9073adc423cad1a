// Interrupts of each NIC by core, around a benchmark.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighTree } from '../../test/support/a3-high-host.js';
import { openTreeFiles } from '../host/read/tree-files.js';
import { pairCounts, readInterruptCounts } from './interrupt-counts.js';

test('interrupt counts: each NIC has those of its own vectors, by core', () => {
  const counts = readInterruptCounts(openTreeFiles(a3HighTree(), '/'));
  assert.deepEqual(
    ['eth1', 'eth2', 'eth3', 'eth4'].filter((nic) => counts[nic] === undefined),
    [],
  );
  const total = Object.values(counts['eth1'] ?? {}).reduce((sum, count) => sum + count, 0);
  assert.ok(total > 0);
});

test('interrupt counts: before and after by core, without what never rang', () => {
  const before = { eth1: { 0: 5, 3: 7 } };
  const after = { eth1: { 0: 5, 3: 9, 4: 2 }, eth2: { 1: 1 } };
  assert.deepEqual(pairCounts(before, after), {
    eth1: { 0: [5, 5], 3: [7, 9], 4: [0, 2] },
    eth2: { 1: [0, 1] },
  });
});
