// Figures of others, and how a run stands to them.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GOAL_GBPS, REFERENCES, standTo } from './references.js';

describe('references', () => {
  test('every one says what it is of, and a suspect one why', () => {
    for (const one of REFERENCES) {
      assert.ok(one.lowGBps > 0 && one.lowGBps <= one.highGBps, one.name);
      assert.ok(one.what !== '' && one.source !== '', one.name);
      if (one.isSuspect) assert.ok(one.remark.length > 20, one.name);
    }
    assert.equal(new Set(REFERENCES.map(({ name }) => name)).size, REFERENCES.length);
  });

  test('figures that were divided by 2^30 are given in 10^9 bytes', () => {
    const server = REFERENCES.find(({ name }) => name === 'engine-2025-server');
    assert.equal(server?.lowGBps.toFixed(2), '2.95');
  });

  test('the one with 2 channels × 2 sockets fits its 8.1 ms, and is suspect', () => {
    const one = REFERENCES.find(({ name }) => name === 'engine-2025-2x2');
    assert.ok(one?.isSuspect === true);
    const rate = (64 * 1024 * 1024) / 8.1e-3 / 1e9;
    assert.ok(one.lowGBps <= rate && rate <= one.highGBps, String(rate));
  });

  test('ratio and gap to each; to a range, its nearer end counts', () => {
    const one = { lowGBps: 4, highGBps: 8 };
    assert.deepEqual(standTo(2, one), { ratio: 0.5, gapGBps: 2 });
    assert.deepEqual(standTo(6, one), { ratio: 1, gapGBps: 0 });
    assert.deepEqual(standTo(16, one), { ratio: 2, gapGBps: -8 });
  });

  test('the goal is 5 GB/s for a GPU', () => {
    assert.equal(GOAL_GBPS, 5);
  });
});
