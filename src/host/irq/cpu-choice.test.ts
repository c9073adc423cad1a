// CPU lists and masks: vectors of a 208-CPU host, what the kernel refuses, and random round trips.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatCpuList } from '../../base/cpu-set.js';
import { isTcpxError } from '../../base/errors.js';
import { cpuSet, differenceOf, isSubset, requireCpuList, unionOf } from './cpu-choice.js';
import { formatHexNumber, requireCpuMask, requireFormattedMask } from './cpu-mask.js';

const CPUS_208 = [
  ['8-21,112-125', '0000,00000000,00000000,3fff0000,00000000,00000000,003fff00', 28],
  ['22-35,126-139', '0000,00000000,00000fff,c0000000,00000000,0000000f,ffc00000', 28],
  ['60-73,164-177', '0000,0003fff0,00000000,00000000,000003ff,f0000000,00000000', 28],
  ['74-87,178-191', '0000,fffc0000,00000000,00000000,00fffc00,00000000,00000000', 28],
  ['8-35,112-139', '0000,00000000,00000fff,ffff0000,00000000,0000000f,ffffff00', 56],
  ['0-51,104-155', '0000,00000000,0fffffff,ffffff00,00000000,000fffff,ffffffff', 104],
  ['52-103,156-207', 'ffff,ffffffff,f0000000,000000ff,ffffffff,fff00000,00000000', 104],
] as const;

for (const [list, mask, count] of CPUS_208) {
  test(`cpu mask: ${list} of 208 CPUs is the mask the kernel prints`, () => {
    const cpus = requireCpuList(list, { possibleCount: 208 });
    assert.equal(cpus.length, count);
    assert.equal(requireFormattedMask(cpus, 208), mask);
    assert.deepEqual(requireCpuMask(mask), cpus);
    assert.equal(formatCpuList(cpus), list);
  });
}

test('cpu mask: the top group has as many digits as its CPUs need', () => {
  assert.equal(requireFormattedMask([0], 8), '01');
  assert.equal(requireFormattedMask([7], 8), '80');
  assert.equal(requireFormattedMask([2], 3), '4');
  assert.equal(requireFormattedMask([31], 32), '80000000');
  assert.equal(requireFormattedMask([32], 33), '1,00000000');
});

test('cpu mask: one number for calculators keeps all bits', () => {
  assert.equal(
    formatHexNumber(requireCpuList('8-21,112-125')),
    '0x3fff00000000000000000000003fff00',
  );
});

test('mask: one number with 0x is read as calculators print it', () => {
  assert.deepEqual(requireCpuMask('0x10'), [4]);
  assert.deepEqual(requireCpuMask(formatHexNumber([0, 21, 300])), [0, 21, 300]);
});

for (const bad of ['0xg', '123456789', 'ff,', 'g', '']) {
  test(`cpu mask: ${JSON.stringify(bad)} is refused as the kernel refuses it`, () => {
    assert.throws(() => requireCpuMask(bad), isUsage);
  });
}

test('cpu mask: a CPU beyond the possible ones is refused', () => {
  assert.throws(() => requireFormattedMask([8], 8), isUsage);
});

for (const bad of ['3-1', 'x', '1-2-3', '-1', '0-7:3/2', '0-7:1/0', '8', '1;2']) {
  test(`cpu list: ${JSON.stringify(bad)} is refused on an 8-CPU host`, () => {
    assert.throws(() => requireCpuList(bad, { possibleCount: 8 }), isUsage);
  });
}

test('cpu list: takes strides, N, all and empty items as the kernel does', () => {
  const options = { possibleCount: 8 };
  assert.deepEqual(requireCpuList('1-3:1/2', options), [1, 3]);
  assert.deepEqual(requireCpuList('5-N', options), [5, 6, 7]);
  assert.deepEqual(requireCpuList('all', options), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(requireCpuList('1,,2', options), [1, 2]);
  assert.deepEqual(requireCpuList('', options), []);
});

const anyHost = fc.integer({ min: 1, max: 1100 }).chain((possibleCount) =>
  fc.record({
    possibleCount: fc.constant(possibleCount),
    cpus: fc.array(fc.integer({ min: 0, max: possibleCount - 1 })).map(cpuSet),
  }),
);

test('cpu list and mask: any set on any host survives both forms', () => {
  fc.assert(
    fc.property(anyHost, ({ possibleCount, cpus }) => {
      assert.deepEqual(requireCpuList(formatCpuList(cpus), { possibleCount }), cpus);
      const mask = requireFormattedMask(cpus, possibleCount);
      assert.deepEqual(requireCpuMask(mask), cpus);
      assert.equal(mask.split(',').length, Math.ceil(possibleCount / 32));
      assert.ok(mask.split(',').every((group) => group.length <= 8));
    }),
  );
});

test('cpu set: difference and union put any two sets together again', () => {
  fc.assert(
    fc.property(anyHost, anyHost, ({ cpus: left }, { cpus: right }) => {
      const rest = differenceOf(left, right);
      assert.ok(isSubset(rest, left));
      assert.deepEqual(unionOf(rest, right), unionOf(left, right));
    }),
  );
});

function isUsage(error: unknown): boolean {
  return isTcpxError(error, 'ERR_USAGE_ARGUMENT');
}
