import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { FAIL_EXPIRED, FAIL_KEY, FAIL_NONE, FAIL_RIGHTS, FAIL_STALE } from '../base/failure.js';
import { createFixedMemory } from '../os/fixed-memory.js';
import { type Region, RegionRegistry, type RegionRights } from './region.js';
import { closeAccess, isInBounds, openAccess } from './region-access.hot.js';
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
  assert.equal(open(), FAIL_NONE);
  assert.equal(open({ right: RIGHT_WRITE }), FAIL_NONE);
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
    assert.equal(open({ key }), FAIL_KEY, `bit ${bit}`);
  }
  assert.equal(registry.users(region), 0);
});

test('access: another generation, a closing or closed region and a bad slot are stale', () => {
  const { table, registry, region, open } = setUp();
  for (const generation of [0, -1, 2, 2 ** 31, 2 ** 32 - region.generation]) {
    assert.equal(open({ generation }), FAIL_STALE, String(generation));
  }
  for (const slot of [3, 4, 2 ** 32 - 1]) {
    assert.equal(openAccess(table, slot, 1, keyOf(region), 0, RIGHT_READ), FAIL_STALE);
  }
  // A free slot holds generation 0: presenting 0 must not open it.
  assert.equal(openAccess(table, 3, 0, new Uint32Array(4), 0, RIGHT_READ), FAIL_STALE);
  registry.beginClose(region);
  assert.equal(open(), FAIL_STALE);
  assert.equal(open({ generation: 2 ** 32 - region.generation }), FAIL_STALE);
  registry.finishClose(region);
  assert.equal(open(), FAIL_STALE);
  assert.equal(registry.users(region), 0);
});

test('access: a right that was not granted is refused, the other is not', () => {
  const reader = setUp({ read: true, write: false });
  assert.equal(reader.open({ right: RIGHT_WRITE }), FAIL_RIGHTS);
  assert.equal(reader.open({ right: RIGHT_READ }), FAIL_NONE);
  const writer = setUp({ read: false, write: true });
  assert.equal(writer.open({ right: RIGHT_READ }), FAIL_RIGHTS);
  assert.equal(writer.open({ right: RIGHT_WRITE }), FAIL_NONE);
  const neither = setUp({ read: false, write: false });
  assert.equal(neither.open({ right: RIGHT_READ }), FAIL_RIGHTS);
  assert.equal(neither.open({ right: RIGHT_WRITE }), FAIL_RIGHTS);
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

test('access: granted until the time is over, refused from then on', () => {
  let nowUs = 1000;
  const clock = { nowUs: () => nowUs };
  const table = regionTableOver(createFixedMemory(4096), 0, 4, clock);
  const registry = new RegionRegistry(table);
  const rights = { read: true, write: true };
  const brief = registry.register(Buffer.alloc(10), rights, { expiresMs: 5 });
  const open = (region: Region) =>
    openAccess(table, region.id, region.generation, keyOf(region), 0, RIGHT_READ);
  nowUs = 5999;
  assert.equal(open(brief), FAIL_NONE);
  nowUs = 6000;
  assert.equal(open(brief), FAIL_EXPIRED);
  assert.equal(
    registry.users(brief),
    1,
    'what began before goes on; what is refused holds nothing',
  );
  // The wrong key learns nothing about the time.
  const wrong = openAccess(table, brief.id, brief.generation, new Uint32Array(4), 0, RIGHT_READ);
  assert.equal(wrong, FAIL_KEY);
  closeAccess(table, brief.id);
  registry.beginClose(brief);
  registry.finishClose(brief);
  // The slot's next owner does not inherit the time.
  const next = registry.register(Buffer.alloc(10), rights);
  assert.equal(next.id, brief.id);
  nowUs = 1e15;
  assert.equal(open(next), FAIL_NONE);
});

test('access: a region without an expiry never asks for the time', () => {
  const clock = { nowUs: () => assert.fail('asked') };
  const table = regionTableOver(createFixedMemory(4096), 0, 4, clock);
  const region = new RegionRegistry(table).register(Buffer.alloc(10), { read: true, write: true });
  const outcome = openAccess(table, region.id, region.generation, keyOf(region), 0, RIGHT_READ);
  assert.equal(outcome, FAIL_NONE);
});

test('access: a time that is none is refused when it is set', () => {
  const { registry } = setUp();
  for (const expiresMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    const register = () =>
      registry.register(Buffer.alloc(1), { read: true, write: true }, { expiresMs });
    assert.throws(register, withCode('ERR_USAGE_ARGUMENT', /expiresMs/));
  }
});

test('region: another process starts from another generation', () => {
  const seen = new Set(Array.from({ length: 20 }, () => setUp().region.generation));
  assert.ok(seen.size > 10, 'a descriptor from before a restart is stale, whatever its key');
});
