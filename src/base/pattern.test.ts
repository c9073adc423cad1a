import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fillPattern, findMismatch, patternByte, verifyPattern } from './pattern.js';

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
        assert.equal(findMismatch(span, seed, position), -1);
      },
    ),
  );
});

test('pattern: every changed byte is counted and the first is named', () => {
  const span = new Uint8Array(4096);
  fillPattern(span, 7, 12345);
  for (const index of [4095, 17, 18]) span[index] = span[index]! ^ 0x40;
  assert.deepEqual(verifyPattern(span, 7, 12345), { count: 3, firstIndex: 17 });
  assert.equal(findMismatch(span, 7, 12345), 17);
});

test('pattern: data one position off, or of another seed, does not pass', () => {
  const span = new Uint8Array(4096);
  fillPattern(span, 7, 0);
  assert.ok(verifyPattern(span, 7, 1).count > 4000);
  assert.ok(verifyPattern(span, 7, 4096).count > 4000);
  assert.ok(verifyPattern(span, 8, 0).count > 4000);
});

test('pattern: memory at any place and of any length is filled and checked to its end', () => {
  for (const [first, bytes] of [
    [0, 64],
    [1, 64],
    [4, 63],
    [6, 61],
    [0, 3],
    [0, 0],
  ] as const) {
    const span = new Uint8Array(128).subarray(first, first + bytes);
    fillPattern(span, 5, 8);
    assert.equal(findMismatch(span, 5, 8), -1, `${bytes} bytes at ${first}`);
    if (bytes === 0) continue;
    span[bytes - 1] = span[bytes - 1]! ^ 1;
    assert.equal(findMismatch(span, 5, 8), bytes - 1, `${bytes} bytes at ${first}`);
  }
});
