import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CollectorPauses } from './collector-pauses.js';

test('collector pauses: counted without a turn of the event loop, and once', () => {
  const pauses = new CollectorPauses();
  const kept: unknown[] = [];
  for (let index = 0; index < 1_000_000; index++) kept.push({ index });
  const { count, totalUs, longestUs } = pauses.take();
  assert.ok(kept.length > 0 && count > 0);
  assert.ok(longestUs > 0 && longestUs <= totalUs, `${longestUs} of ${totalUs} µs`);
  assert.ok(pauses.take().count < count);
  pauses.stop();
});
