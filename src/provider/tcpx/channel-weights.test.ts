import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChannelWeights } from './channel-weights.js';

const MIB = 1024 * 1024;

test('weights: equal until every channel was measured, then by rate', () => {
  const weights = new ChannelWeights('measured');
  assert.deepEqual(weights.current(2), [1, 1]);
  weights.onPart(0, 4 * MIB, 1000);
  assert.deepEqual(weights.current(2), [1, 1]);
  weights.onPart(1, 4 * MIB, 4000);
  assert.deepEqual(weights.current(2), [100, 25]);
});

test('weights: short parts say nothing, and a channel is never starved', () => {
  const weights = new ChannelWeights('measured');
  weights.onPart(0, 4 * MIB, 1);
  weights.onPart(1, 4 * MIB, 1_000_000);
  weights.onPart(1, 10, 1);
  assert.deepEqual(weights.current(2), [100, 1]);
});
