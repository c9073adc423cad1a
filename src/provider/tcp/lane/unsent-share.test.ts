import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unsentShare } from './unsent-share.js';

const MIB = 1024 * 1024;

test('unsent share: few channels are not limited, many share what the lane allows', () => {
  assert.equal(unsentShare(128 * MIB, 0), 0);
  assert.equal(unsentShare(128 * MIB, 32), 0, 'as much as the kernel would buffer anyway');
  assert.equal(unsentShare(128 * MIB, 33), 2 * MIB);
  assert.equal(unsentShare(128 * MIB, 1024), 128 * 1024);
  assert.equal(unsentShare(1 * MIB, 1024), 64 * 1024, 'nobody gets less than helps');
  for (let channels = 1; channels <= 1024; channels++) {
    const share = unsentShare(128 * MIB, channels);
    assert.ok(share === 0 || share * channels <= 128 * MIB, `${channels} channels`);
  }
});
