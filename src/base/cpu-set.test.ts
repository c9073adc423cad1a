import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatCpuList, formatCpuMask, parseCpuList, parseCpuMask } from './cpu-set.js';

const VECTORS: readonly (readonly [string, string])[] = [
  ['8-21,112-125', '0000,00000000,00000000,3fff0000,00000000,00000000,003fff00'],
  ['22-35,126-139', '0000,00000000,00000fff,c0000000,00000000,0000000f,ffc00000'],
  ['60-73,164-177', '0000,0003fff0,00000000,00000000,000003ff,f0000000,00000000'],
  ['74-87,178-191', '0000,fffc0000,00000000,00000000,00fffc00,00000000,00000000'],
  ['0-51,104-155', '0000,00000000,0fffffff,ffffff00,00000000,000fffff,ffffffff'],
  ['52-103,156-207', 'ffff,ffffffff,f0000000,000000ff,ffffffff,fff00000,00000000'],
];

test('cpu set: list and mask of 208 CPUs agree, both ways', () => {
  for (const [list, mask] of VECTORS) {
    const cpus = parseCpuList(list);
    assert.ok(cpus !== undefined);
    assert.equal(formatCpuMask(cpus, 208), mask);
    assert.deepEqual(parseCpuMask(mask), cpus);
    assert.equal(formatCpuList(cpus), list);
  }
});

test('cpu set: any set survives list and mask, for any CPU count', () => {
  const sets = fc
    .integer({ min: 1, max: 600 })
    .chain((count) =>
      fc.tuple(fc.constant(count), fc.uniqueArray(fc.integer({ min: 0, max: count - 1 }))),
    );
  fc.assert(
    fc.property(sets, ([count, cpus]) => {
      const sorted = [...cpus].sort((a, b) => a - b);
      assert.deepEqual(parseCpuList(formatCpuList(cpus)), sorted);
      assert.deepEqual(parseCpuMask(formatCpuMask(cpus, count) ?? ''), sorted);
    }),
  );
});

test('cpu set: strides, empty items and blanks parse as the kernel does', () => {
  assert.deepEqual(parseCpuList('1-3:1/2'), [1, 3]);
  assert.deepEqual(parseCpuList('0-7:2/4'), [0, 1, 4, 5]);
  assert.deepEqual(parseCpuList('1,,2\n'), [1, 2]);
  assert.deepEqual(parseCpuList('\n'), []);
});

test('cpu set: what is not a set is refused', () => {
  for (const bad of ['3-1', 'x', '1-', '0-99999999', '1:2/1', '-1']) {
    assert.equal(parseCpuList(bad), undefined, bad);
  }
  for (const bad of ['0x10', '123456789', '', 'g']) assert.equal(parseCpuMask(bad), undefined, bad);
  assert.equal(formatCpuMask([208], 208), undefined);
});
