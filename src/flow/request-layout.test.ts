import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as layout from './request-layout.js';

test('request layout: every field lies inside its entry and no two overlap', () => {
  const words = layout.ENTRY_WORDS;
  const floats = layout.ENTRY_FLOATS;
  assert.equal(words * 4, layout.REQUEST_ENTRY_BYTES);
  assert.equal(floats * 8, layout.REQUEST_ENTRY_BYTES);
  assert.ok(layout.REMOTE_KEY + 4 <= words);
  const pair = [
    layout.PAIR_LOCAL_ADDR,
    layout.PAIR_REMOTE_OFFSET,
    layout.PAIR_BYTES,
    layout.PAIR_REMOTE_INDEX,
  ];
  assert.equal(new Set(pair).size, 4);
  assert.ok(pair.every((index) => index < floats));
  const chunk = [
    layout.CHUNK_FIRST_PAIR,
    layout.CHUNK_PAIR_COUNT,
    layout.CHUNK_BYTES,
    layout.CHUNK_REMOTE_INDEX,
    layout.CHUNK_SKIP * 2,
    layout.CHUNK_SKIP * 2 + 1,
  ];
  assert.equal(new Set(chunk).size, 6);
  assert.ok(chunk.every((index) => index < words));
});

test('request layout: the size counts every entry', () => {
  const bytes = layout.requestBytes({ remoteCount: 2, pairCount: 3, chunkCount: 5 });
  assert.equal(bytes, 10 * layout.REQUEST_ENTRY_BYTES);
});
