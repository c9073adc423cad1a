import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { withCode } from '../../test/support/expect-error.js';
import { RegionRegistry, sliceRegion } from '../memory/region.js';
import { regionTableOver } from '../memory/region-table.js';
import { createFixedMemory } from '../os/fixed-memory.js';
import { type BlockSpec, blockOf as blockWith } from './block-spec.js';
import { LentMemory } from './lent-memory.js';

const registry = new RegionRegistry(regionTableOver(createFixedMemory(8192), 4096, 8));
const blockOf = (spec: BlockSpec, index: number) =>
  blockWith(spec, index, new LentMemory(registry));
const make = (bytes: number) => registry.register(Buffer.alloc(bytes), { read: true, write: true });
const local = make(100);
const remote = make(200).descriptor;

test('block: whole regions, offsets and slices name the same bytes', () => {
  const whole = { local, localOffset: 0, remote, remoteOffset: 0, bytes: 100 };
  assert.deepEqual(blockOf({ local, remote }, 0), whole);
  const part = { local, localOffset: 40, remote, remoteOffset: 7, bytes: 60 };
  assert.deepEqual(blockOf({ local, remote, localOffset: 40, remoteOffset: 7 }, 0), part);
  assert.deepEqual(blockOf({ local: local.slice(40), remote: sliceRegion(remote, 7) }, 0), part);
  const inner = { local: local.slice(10, 50), localOffset: 5, remote, bytes: 8 };
  assert.equal(blockOf(inner, 0).localOffset, 15);
});

test('block: what does not fit or is no memory is refused in words', () => {
  const bad: readonly (readonly [unknown, RegExp])[] = [
    [{ local, remote: sliceRegion(remote, 150) }, /100 bytes do not fit/],
    [{ local, remote, bytes: 0 }, /0 bytes/],
    [{ local, remote, bytes: 1.5 }, /1\.5/],
    [{ local: local.slice(0, 10), remote, bytes: 11 }, /11 bytes do not fit/],
    [{ local, remote, localOffset: 100 }, /localOffset/],
    [{ local, remote, localOffset: -1 }, /localOffset/],
    [{ local: 'abc', remote }, /local is a region, .* not a text/],
    [{ local, remote: local }, /remote is a descriptor/],
    [{ local }, /remote is a descriptor .*, not undefined/],
    [undefined, /an object with local and remote/],
    ['text', /an object with local and remote, not a text/],
  ];
  for (const [spec, text] of bad) {
    const check = withCode('ERR_USAGE_ARGUMENT', text);
    assert.throws(() => blockOf(spec as BlockSpec, 0), check, String(text));
  }
  for (const [from, to] of [
    [0, 101],
    [5, 5],
    [-1, 5],
  ]) {
    assert.throws(() => local.slice(from, to), withCode('ERR_USAGE_ARGUMENT', /slice/));
  }
});

test('region: the key is in the JSON of a descriptor and in nothing that prints', () => {
  const { key } = local.descriptor;
  assert.ok(JSON.stringify(local.descriptor).includes(key));
  assert.ok(!inspect(local, { depth: 9 }).includes(key));
  assert.ok(!inspect(local.descriptor).includes(key));
});
