import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { randomBytes } from '../../test/support/scatter-lists.js';
import { seededRandom } from '../base/random.js';
import { checksumHost } from './checksum.js';

test('checksum: a flipped bit, two exchanged words, a missing or an added zero byte show', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 9, max: 300 }), fc.nat(), (seed, bytes, pick) => {
      const content = randomBytes(seededRandom(seed), bytes);
      const sum = checksumHost(content);
      const flipped = content.slice();
      flipped[pick % bytes] = flipped[pick % bytes]! ^ (1 << (pick % 8));
      assert.notEqual(checksumHost(flipped), sum);
      const exchanged = content.slice();
      exchanged.copyWithin(0, 4, 8);
      exchanged.set(content.subarray(0, 4), 4);
      if (!Buffer.from(exchanged).equals(content)) assert.notEqual(checksumHost(exchanged), sum);
      assert.notEqual(checksumHost(content.subarray(0, bytes - 1)), sum);
      assert.notEqual(checksumHost(new Uint8Array([...content, 0])), sum);
    }),
  );
});

test('checksum: zeros of different length differ', () => {
  const sums = new Set(Array.from({ length: 64 }, (_, n) => checksumHost(new Uint8Array(n))));
  assert.equal(sums.size, 64);
});
