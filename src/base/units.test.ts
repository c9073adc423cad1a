import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatBytes, formatGBps, formatUs, parseBytes, plural } from './units.js';

test('units: sizes are read as people write them', () => {
  const cases: readonly (readonly [string, number])[] = [
    ['0', 0],
    ['64MiB', 64 * 1024 ** 2],
    ['512K', 512 * 1024],
    ['512kb', 512 * 1024],
    ['1.5 GiB', 1.5 * 1024 ** 3],
    [' 7 b ', 7],
    ['1t', 1024 ** 4],
  ];
  for (const [text, bytes] of cases) assert.equal(parseBytes(text), bytes, text);
});

test('units: what is not a whole number of bytes is not a size', () => {
  const bad = [
    '',
    'M',
    '-1',
    '+1',
    '64XB',
    '1.2',
    '0x10',
    '1e3',
    '1 2',
    'NaN',
    '1.K',
    '9007199254740992',
  ];
  for (const text of bad) assert.equal(parseBytes(text), undefined, text);
});

test('units: names of object members are not units', () => {
  for (const text of ['1constructor', '1toString', '1hasOwnProperty']) {
    assert.equal(parseBytes(text), undefined, text);
  }
});

test('units: a whole size survives being written and read', () => {
  const units = fc.constantFrom(1, 1024, 1024 ** 2, 1024 ** 3);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1023 }), units, (count, unit) => {
      assert.equal(parseBytes(formatBytes(count * unit)), count * unit);
    }),
  );
});

test('units: quantities are written with a unit that suits them', () => {
  assert.equal(formatBytes(0), '0 B');
  assert.equal(formatBytes(1023), '1023 B');
  assert.equal(formatBytes(1536), '1.50 KiB');
  assert.equal(formatBytes(100.5 * 1024 ** 2), '100.5 MiB');
  assert.equal(formatBytes(2048 * 1024 ** 4), '2048 TiB');
  assert.equal(formatGBps(3.456e9), '3.46 GB/s');
  assert.equal(formatUs(5), '5.0 µs');
  assert.equal(formatUs(1500), '1.50 ms');
  assert.equal(formatUs(2.5e6), '2.50 s');
  assert.deepEqual(
    [0, 1, 2].map((count) => plural(count, 'lane')),
    ['0 lanes', '1 lane', '2 lanes'],
  );
});
