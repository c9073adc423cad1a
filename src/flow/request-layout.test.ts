import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHUNK_BLOCK, PAIR_BLOCK, REMOTE_BLOCK } from '../base/shared-layout.js';
import * as layout from './request-layout.js';

test('request layout: the entries of all three lists have one size', () => {
  for (const block of [REMOTE_BLOCK, PAIR_BLOCK, CHUNK_BLOCK]) {
    assert.equal(block.bytes, layout.REQUEST_ENTRY_BYTES);
  }
  assert.equal(layout.ENTRY_WORDS * 4, layout.REQUEST_ENTRY_BYTES);
  assert.equal(layout.ENTRY_FLOATS * 8, layout.REQUEST_ENTRY_BYTES);
});

test('request layout: the size counts every entry', () => {
  const bytes = layout.requestBytes({ remoteCount: 2, pairCount: 3, chunkCount: 5 });
  assert.equal(bytes, 10 * layout.REQUEST_ENTRY_BYTES);
});
