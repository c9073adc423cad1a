import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFixedMemory } from './fixed-memory.js';
import { type Region, RegionRegistry, type RegionRights } from './region.js';
import {
  ACCESS_GRANTED,
  ACCESS_KEY,
  ACCESS_RIGHTS,
  ACCESS_STALE,
  closeAccess,
  isInBounds,
  openAccess,
} from './region-access.hot.js';
import { RIGHT_READ, RIGHT_WRITE, regionTableOver } from './region-table.js';

function setUp(rights: RegionRights = { read: true, write: true }) {
  const table = regionTableOver(createFixedMemory(4096), 0, 4);
  const registry = new RegionRegistry(table);
  const region = registry.register(Buffer.alloc(100), rights);
  const open = (options: { generation?: number; key?: Uint32Array; right?: number } = {}) =>
    openAccess(
      table,
      region.id,
      options.generation ?? region.generation,
      options.key ?? keyOf(region),
      0,
      options.right ?? RIGHT_READ,
    );
  return { table, registry, region, open };
}

function keyOf(region: Region): Uint32Array {
  const bytes = Buffer.from(region.descriptor.key, 'hex');
  return new Uint32Array([0, 4, 8, 12].map((offset) => bytes.readUInt32LE(offset)));
}

test('access: the right key opens, and counts a user until it is closed', () => {
  const { table, registry, region, open } = setUp();
  assert.equal(open(), ACCESS_GRANTED);
  assert.equal(open({ right: RIGHT_WRITE }), ACCESS_GRANTED);
  assert.equal(registry.users(region), 2);
  closeAccess(table, region.id);
  closeAccess(table, region.id);
  assert.equal(registry.users(region), 0);
});

test('access: every single bit of the key matters', () => {
  const { open, registry, region } = setUp();
  for (let bit = 0; bit < 128; bit++) {
    const key = keyOf(region);
    key[bit >> 5]! ^= 1 << (bit & 31);
    assert.equal(open({ key }), ACCESS_KEY, `bit ${bit}`);
  }
  assert.equal(registry.users(region), 0);
});

test('access: another generation, a closing or closed region and a bad slot are stale', () => {
  const { table, registry, region, open } = setUp();
  for (const generation of [0, -1, 2, 2 ** 31, 2 ** 32 - region.generation]) {
    assert.equal(open({ generation }), ACCESS_STALE, String(generation));
  }
  for (const slot of [3, 4, 2 ** 32 - 1]) {
    assert.equal(openAccess(table, slot, 1, keyOf(region), 0, RIGHT_READ), ACCESS_STALE);
  }
  // A free slot holds generation 0: presenting 0 must not open it.
  assert.equal(openAccess(table, 3, 0, new Uint32Array(4), 0, RIGHT_READ), ACCESS_STALE);
  registry.beginClose(region);
  assert.equal(open(), ACCESS_STALE);
  assert.equal(open({ generation: 2 ** 32 - region.generation }), ACCESS_STALE);
  registry.finishClose(region);
  assert.equal(open(), ACCESS_STALE);
  assert.equal(registry.users(region), 0);
});

test('access: a right that was not granted is refused, the other is not', () => {
  const reader = setUp({ read: true, write: false });
  assert.equal(reader.open({ right: RIGHT_WRITE }), ACCESS_RIGHTS);
  assert.equal(reader.open({ right: RIGHT_READ }), ACCESS_GRANTED);
  const writer = setUp({ read: false, write: true });
  assert.equal(writer.open({ right: RIGHT_READ }), ACCESS_RIGHTS);
  assert.equal(writer.open({ right: RIGHT_WRITE }), ACCESS_GRANTED);
  const neither = setUp({ read: false, write: false });
  assert.equal(neither.open({ right: RIGHT_READ }), ACCESS_RIGHTS);
  assert.equal(neither.open({ right: RIGHT_WRITE }), ACCESS_RIGHTS);
});

test('access: bounds hold at the last byte and with offsets near 2^53', () => {
  const { table, region } = setUp();
  assert.ok(isInBounds(table, region.id, 0, 100));
  assert.ok(isInBounds(table, region.id, 99, 1));
  assert.ok(!isInBounds(table, region.id, 100, 1));
  assert.ok(!isInBounds(table, region.id, 1, 100));
  assert.ok(!isInBounds(table, region.id, 2 ** 53 - 1, 1));
  assert.ok(!isInBounds(table, region.id, 2 ** 53 - 1, 2 ** 32 - 1));
});
