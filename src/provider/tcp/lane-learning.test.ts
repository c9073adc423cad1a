// With how many lanes a session's transfers begin, by where its peer is and how the bytes go.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LaneSession } from './lane-carrier.js';
import { LaneLearning } from './lane-learning.js';
import type { TransferTable } from './transfer-table.js';

const MIB = 1024 * 1024;
const LANES = 8;
const NEAR_LANES = 4;

type Path = 'tcp host' | 'shm';

function lanesToBegin(isSameHost: boolean, path: Path, isNearPaced: boolean): number {
  const learning = new LaneLearning({
    table: undefined as unknown as TransferTable,
    clock: { nowUs: () => 0 },
    nearLanes: NEAR_LANES,
    isNearPaced,
  });
  const session = { facts: { isSameHost, path, nics: [] } } as unknown as LaneSession;
  return learning.spreadOf(session, 'write', 'plain').expected(64 * MIB, LANES);
}

test('lane learning: all lanes to begin with, but half where more are known to cost', () => {
  assert.equal(lanesToBegin(false, 'tcp host', false), LANES);
  assert.equal(lanesToBegin(false, 'tcp host', true), LANES);
  assert.equal(lanesToBegin(true, 'tcp host', false), LANES);
  assert.equal(lanesToBegin(true, 'tcp host', true), NEAR_LANES);
  assert.equal(lanesToBegin(true, 'shm', false), NEAR_LANES);
});
