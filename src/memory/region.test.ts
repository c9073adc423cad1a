import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { createFixedMemory } from '../os/fixed-memory.js';
import { RegionRegistry } from './region.js';
import {
  REGION_GENERATION,
  regionAddr,
  regionBytes,
  regionTableOver,
  regionWord,
} from './region-table.js';

const RIGHTS = { read: true, write: true };

function makeRegistry(count = 4) {
  const table = regionTableOver(createFixedMemory(8192), 4096, count);
  return { table, registry: new RegionRegistry(table) };
}

test('region: id, range and rights are what was registered, keys are all different', () => {
  const { registry, table } = makeRegistry(64);
  const memory = Buffer.alloc(64 * 10);
  const keys = new Set<string>();
  for (let index = 0; index < 64; index++) {
    const region = registry.register(memory.subarray(index * 10, index * 10 + 10), RIGHTS);
    assert.equal(region.id, index);
    assert.equal(region.bytes, 10);
    assert.equal(region.descriptor.bytes, 10);
    assert.equal(regionAddr(table, index), region.addr);
    assert.equal(regionBytes(table, index), 10);
    assert.match(region.descriptor.key, /^[0-9a-f]{32}$/);
    keys.add(region.descriptor.key);
  }
  assert.equal(keys.size, 64);
});

test('region: views, plain and shared buffers and raw ranges name their own first byte', () => {
  const { registry } = makeRegistry();
  const buffer = new ArrayBuffer(100);
  const whole = registry.register(buffer, RIGHTS);
  const part = registry.register(new Uint8Array(buffer, 40, 20), RIGHTS);
  assert.equal(part.addr, whole.addr + 40);
  assert.equal(part.bytes, 20);
  assert.equal(registry.register(new SharedArrayBuffer(8), RIGHTS).bytes, 8);
  assert.equal(registry.register({ addr: whole.addr, bytes: 7 }, RIGHTS).addr, whole.addr);
});

test('region: the registration holds its memory', () => {
  const { registry } = makeRegistry();
  const source = Buffer.alloc(8);
  assert.equal(registry.register(source, RIGHTS).source, source);
});

test('region: a reused slot has another generation and another key', () => {
  const { registry, table } = makeRegistry();
  const first = registry.register(Buffer.alloc(8), RIGHTS);
  registry.beginClose(first);
  registry.finishClose(first);
  assert.ok(!registry.isRegistered(first));
  assert.equal(table.int32[regionWord(first.id, REGION_GENERATION)], 0);
  const second = registry.register(Buffer.alloc(8), RIGHTS);
  assert.equal(second.id, first.id);
  assert.equal(second.generation, first.generation + 1);
  assert.notEqual(second.descriptor.key, first.descriptor.key);
  assert.throws(() => registry.retain(first), withCode('ERR_USAGE_STATE'));
  assert.throws(() => registry.beginClose(first), withCode('ERR_USAGE_STATE'));
});

test('region: users are counted, closing can be taken back', () => {
  const { registry, table } = makeRegistry();
  const region = registry.register(Buffer.alloc(8), RIGHTS);
  const generation = () => table.int32[regionWord(region.id, REGION_GENERATION)];
  registry.retain(region);
  registry.retain(region);
  assert.equal(registry.users(region), 2);
  registry.beginClose(region);
  assert.equal(generation(), -region.generation);
  registry.cancelClose(region);
  assert.equal(generation(), region.generation);
  registry.release(region);
  registry.release(region);
  assert.equal(registry.users(region), 0);
});

test('region: the end of an old registration does not touch the new one in its slot', () => {
  const { registry, table } = makeRegistry();
  const old = registry.register(Buffer.alloc(8), RIGHTS);
  registry.beginClose(old);
  registry.finishClose(old);
  const fresh = registry.register(Buffer.alloc(8), RIGHTS);
  registry.finishClose(old);
  registry.cancelClose(old);
  assert.ok(registry.isRegistered(fresh));
  assert.equal(table.int32[regionWord(fresh.id, REGION_GENERATION)], fresh.generation);
});

test('region: empty, resizable, detached and nonsense ranges are refused', () => {
  const { registry } = makeRegistry();
  const refused = withCode('ERR_USAGE_ARGUMENT');
  const resizable = new ArrayBuffer(8, { maxByteLength: 64 });
  const detached = new ArrayBuffer(8);
  structuredClone(detached, { transfer: [detached] });
  const sources = [
    Buffer.alloc(0),
    resizable,
    new Uint8Array(resizable),
    detached,
    { addr: 0, bytes: 8 },
    { addr: 1.5, bytes: 8 },
    { addr: 2 ** 53, bytes: 8 },
    { addr: 4096, bytes: 0 },
    { addr: 4096, bytes: -1 },
    { addr: 4096, bytes: Number.NaN },
  ];
  for (const source of sources) assert.throws(() => registry.register(source, RIGHTS), refused);
  assert.equal(registry.register(Buffer.alloc(1), RIGHTS).id, 0, 'no slot was lost');
});

test('region: a full table names the setting, and a freed slot helps', () => {
  const { registry } = makeRegistry(2);
  const first = registry.register(Buffer.alloc(1), RIGHTS);
  registry.register(Buffer.alloc(1), RIGHTS);
  const register = () => registry.register(Buffer.alloc(1), RIGHTS);
  assert.throws(register, withCode('ERR_CONFIG_VALUE', /memory\.regionsMax/));
  registry.beginClose(first);
  registry.finishClose(first);
  assert.equal(register().id, first.id);
});

test('region: two that deregister it at a time: one that gives up does not open it again', () => {
  const { registry, table } = makeRegistry();
  const region = registry.register(new Uint8Array(8), { read: true, write: true });
  const generation = (): number => table.int32[regionWord(region.id, REGION_GENERATION)] ?? 0;
  registry.beginClose(region);
  registry.beginClose(region);
  registry.cancelClose(region);
  assert.equal(generation(), -region.generation, 'still closed for the other');
  registry.cancelClose(region);
  assert.equal(generation(), region.generation, 'open when both have given up');
});
