import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type BasicDesc, compareDescs } from './descriptors.js';
import { RangeIndex } from './range-index.js';

const desc = fc.record({
  addr: fc.nat(200),
  len: fc.integer({ min: 1, max: 60 }),
  devId: fc.nat(2),
});

function coversDesc(outer: BasicDesc, inner: BasicDesc): boolean {
  return (
    outer.devId === inner.devId &&
    outer.addr <= inner.addr &&
    inner.addr + inner.len <= outer.addr + outer.len
  );
}

function overlapsDesc(a: BasicDesc, b: BasicDesc): boolean {
  return a.devId === b.devId && a.addr < b.addr + b.len && b.addr < a.addr + a.len;
}

test('range index: finds a covering range exactly when one exists, overlaps included', () => {
  fc.assert(
    fc.property(fc.array(desc, { maxLength: 30 }), desc, (entries, query) => {
      const index = new RangeIndex<(typeof entries)[number]>();
      for (const entry of entries) index.add(entry);
      const found = index.findCovering(query.addr, query.len, query.devId);
      const expected = entries.some((entry) => coversDesc(entry, query));
      assert.equal(found !== undefined, expected);
      if (found !== undefined) assert.ok(coversDesc(found, query));
    }),
    { numRuns: 1000 },
  );
});

test('range index: keeps NIXL’s order through additions and removals', () => {
  fc.assert(
    fc.property(fc.array(desc, { maxLength: 30 }), fc.nat(29), (entries, removeAt) => {
      const index = new RangeIndex<(typeof entries)[number]>();
      const half = Math.floor(entries.length / 2);
      index.addAll(entries.slice(0, half));
      for (const entry of entries.slice(half)) index.add(entry);
      const removed = entries[removeAt];
      if (removed !== undefined) assert.equal(index.remove(removed), true);
      const expected = entries.filter((entry) => entry !== removed).toSorted(compareDescs);
      assert.deepEqual(index.entries(), expected);
    }),
  );
});

test('range index: exact matches include duplicates', () => {
  const index = new RangeIndex<{ addr: number; len: number; devId: number; id: number }>();
  for (const id of [1, 2]) index.add({ addr: 5, len: 6, devId: 0, id });
  index.add({ addr: 5, len: 7, devId: 0, id: 3 });
  const ids = index.findExact({ addr: 5, len: 6, devId: 0 }).map((entry) => entry.id);
  assert.deepEqual(ids.toSorted(), [1, 2]);
  assert.deepEqual(index.findExact({ addr: 5, len: 6, devId: 1 }), []);
});

test('descriptors: overlap is half-open and per device', () => {
  const a = { addr: 0, len: 10, devId: 0 };
  assert.equal(overlapsDesc(a, { addr: 9, len: 1, devId: 0 }), true);
  assert.equal(overlapsDesc(a, { addr: 10, len: 1, devId: 0 }), false);
  assert.equal(overlapsDesc(a, { addr: 9, len: 1, devId: 1 }), false);
});
