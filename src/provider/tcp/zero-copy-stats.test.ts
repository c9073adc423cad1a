import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LANE_CONTROL_BYTES, LANE_ZERO_COPY } from './lane/layout.js';
import { readZeroCopy } from './zero-copy-stats.js';

test('zero-copy stats: lanes are added up by channel, silent channels left out', () => {
  const shared = new Float64Array((3 * LANE_CONTROL_BYTES) / 8);
  const controlsAt = [LANE_CONTROL_BYTES, 2 * LANE_CONTROL_BYTES];
  const put = (lane: number, channel: number, values: readonly number[]): void => {
    shared.set(values, (controlsAt[lane] ?? 0) / 8 + LANE_ZERO_COPY + channel * 4);
  };
  put(0, 0, [10, 4, 5, 1]);
  put(1, 0, [1, 1, 0, 0]);
  put(1, 15, [0, 0, 0, 7]);
  assert.deepEqual(readZeroCopy(shared, controlsAt), [
    { channel: 0, sends: 11, zeroCopied: 5, copied: 5, fallbacks: 1 },
    { channel: 15, sends: 0, zeroCopied: 0, copied: 0, fallbacks: 7 },
  ]);
  assert.ok(LANE_ZERO_COPY + 16 * 4 <= LANE_CONTROL_BYTES / 8, 'fits the control block');
});
