import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../base/random.js';
import { randomBytes } from '../../test/support/scatter-lists.js';
import { checksumHost } from './checksum.js';
import { fillPattern, patternByte, verifyPattern } from './pattern.js';

test('pattern: a filled span is the pattern byte by byte, at any position', () => {
  fc.assert(
    fc.property(
      fc.integer(),
      fc.oneof(fc.nat(100), fc.integer({ min: 2 ** 34 - 50, max: 2 ** 34 + 50 })),
      fc.nat(200),
      (seed, position, bytes) => {
        const span = new Uint8Array(bytes);
        fillPattern(span, seed, position);
        for (const [index, value] of span.entries()) {
          assert.equal(value, patternByte(seed, position + index));
        }
        assert.deepEqual(verifyPattern(span, seed, position), { count: 0, firstIndex: undefined });
      },
    ),
  );
});

test('pattern: every changed byte is counted and the first is named', () => {
  const span = new Uint8Array(4096);
  fillPattern(span, 7, 12345);
  for (const index of [4095, 17, 18]) span[index] = span[index]! ^ 0x40;
  assert.deepEqual(verifyPattern(span, 7, 12345), { count: 3, firstIndex: 17 });
});

test('pattern: data one position off, or of another seed, does not pass', () => {
  const span = new Uint8Array(4096);
  fillPattern(span, 7, 0);
  assert.ok(verifyPattern(span, 7, 1).count > 4000);
  assert.ok(verifyPattern(span, 7, 4096).count > 4000);
  assert.ok(verifyPattern(span, 8, 0).count > 4000);
});

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
