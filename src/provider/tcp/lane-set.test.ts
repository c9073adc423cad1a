// Lanes without threads live by the clock that they are given, their regions too.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LaneSet } from './lane-set.js';

test('lane set: regions of inline lanes expire by the clock of the lanes', async () => {
  const clock = { nowUs: () => 42 };
  const lanes = new LaneSet({
    shape: { regionCount: 1, transferCount: 1, sessionCount: 1, laneCount: 2, arenaBytes: 4096 },
    progress: 'caller',
    spinUs: 0,
    cpus: [],
    nodes: [],
    controlFd: -1,
    sendBy: 'copy',
    staging: { stagingBytes: 0, gpuModule: '', openProvider: () => undefined },
    stallUs: 1e6,
    receiveBytes: 4096,
    spareTables: 8,
    inline: { clock },
    onEvent: () => undefined,
    onWake: () => undefined,
    onLaneFailed: (_, error) => assert.fail(error),
  });
  try {
    assert.equal(lanes.inline.length, 2);
    for (const { core } of lanes.inline) assert.equal(core.regions.clock, clock);
  } finally {
    await lanes.close();
  }
});
