import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hintFor } from './plugin-hints.js';

test('plugin hints: a chunk too large, in both of the plugin’s ways to say it', () => {
  assert.match(hintFor(['request too many pages: received 2049/2048 segs, failstop']), /--chunk/);
  assert.match(hintFor(['x', 'fatal, cmsg truncated']), /--chunk/);
});

test('plugin hints: none for words that are not known', () => {
  assert.equal(hintFor(['something else']), '');
  assert.equal(hintFor([]), '');
});
