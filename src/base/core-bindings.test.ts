// The binding grammar: round trips, and each way in which the plugin would misread a text.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  bindingCpus,
  bindingOf,
  formatBindings,
  parseBindings,
  workerCpus,
} from './core-bindings.js';
import { formatCpuList, sortCpus } from './cpu-set.js';

const toSet = (cpus: Iterable<number>): number[] => sortCpus(new Set(cpus));
const TX = 'eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177';
const HOST = { nics: ['eth0', 'eth1', 'eth2', 'eth3', 'eth4'], possibleCount: 208 };

test('bindings: the reference text parses without a pitfall and prints back', () => {
  const { bindings, pitfalls } = parseBindings(TX, HOST);
  assert.deepEqual(pitfalls, []);
  assert.deepEqual(
    bindings.map((binding) => [binding.nic, bindingCpus(binding).length]),
    [
      ['eth1', 28],
      ['eth2', 28],
      ['eth3', 28],
      ['eth4', 28],
    ],
  );
  assert.equal(formatBindings(bindings), TX);
});

test('bindings: any set of cores survives the text, one core as lo-hi', () => {
  const cpus = fc.array(fc.integer({ min: 0, max: 207 }), { minLength: 1 }).map(toSet);
  const entries = fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z]{2,5}\d$/), cpus), {
    minLength: 1,
    maxLength: 6,
    selector: ([nic]) => nic,
  });
  fc.assert(
    fc.property(entries, (pairs) => {
      const bindings = pairs.map(([nic, set]) => bindingOf(nic, set));
      const parsed = parseBindings(formatBindings(bindings)).bindings;
      assert.deepEqual(parsed, bindings);
      assert.deepEqual(
        parsed.map(bindingCpus),
        pairs.map(([, set]) => set),
      );
    }),
  );
});

const PITFALLS = [
  ['a bare core is skipped', 'eth1:8,10-12', 'wrong', /skips: write 8-8/],
  ['an interface without a range', 'eth1', 'fatal', /divides by zero/],
  ['an interface left without a valid range', 'eth1:8', 'fatal', /divides by zero/],
  ['an unknown interface', 'eth9:8-9', 'wrong', /no such interface/],
  ['nine ranges', `eth1:${nineRanges()}`, 'fatal', /9 ranges/],
  ['a backward range', 'eth1:9-8,10-11', 'wrong', /backwards/],
  ['cores that do not exist', 'eth1:200-300', 'wrong', /above the last one, 207/],
  ['an interface named twice', 'eth1:1-2;eth1:3-4', 'wrong', /named twice/],
  ['overlapping ranges', 'eth1:112-125,124-139', 'note', /overlap/],
  ['a space', 'eth1: 8-9', 'wrong', /not a range/],
] as const;

for (const [name, text, severity, pattern] of PITFALLS) {
  test(`bindings: ${name} is reported`, () => {
    const { pitfalls } = parseBindings(text, HOST);
    assert.ok(
      pitfalls.some((pitfall) => pitfall.severity === severity && pattern.test(pitfall.text)),
      JSON.stringify(pitfalls),
    );
  });
}

test('bindings: an unpinned thread gets the whole set, a pinned one a core by position', () => {
  const binding = parseBindings('eth1:20-21,8-9').bindings[0]!;
  const pinned = { threads: 1, isPinned: true, sprayCount: 0, sprayStride: 0 };
  assert.equal(
    formatCpuList(workerCpus(binding, 0, 0, { ...pinned, isPinned: false })),
    '8-9,20-21',
  );
  assert.deepEqual(workerCpus(binding, 0, 0, pinned), [20]);
  assert.deepEqual(workerCpus(binding, 2, 0, pinned), [8]);
  assert.deepEqual(workerCpus(binding, 5, 0, pinned), [21]);
  const sprayed = { ...pinned, sprayCount: 1, sprayStride: 2 };
  assert.deepEqual(workerCpus(binding, 0, 0, sprayed), [8, 20]);
});

function nineRanges(): string {
  return Array.from({ length: 9 }, (_, index) => `${index * 3}-${index * 3}`).join(',');
}
