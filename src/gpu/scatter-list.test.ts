import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { randomBytes, randomList, randomTable } from '../../test/support/scatter-lists.js';
import { isTcpxError } from '../base/errors.js';
import { seededRandom } from '../base/random.js';
import { validateBlockTable } from './block-table.js';
import { gatherHost, scatterHost, unpackHost } from './host-copy.js';
import {
  ENTRY_PARTS,
  FRAGMENTS_MAX,
  NOT_PACKED,
  PACKED_FRAGMENTS_MAX,
  PACKED_PARTS,
  ScatterRule,
} from './scatter-entry.js';
import { checkFragments, isPackable } from './scatter-list.hot.js';
import { readFragment, validateScatterList, writeFragment } from './scatter-list.js';

function ruleOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    if (isTcpxError(error, 'ERR_NCCLNET_SCATTER_LIST')) return error.facts['rule'];
    throw error;
  }
  return 'accepted';
}

const LIST_SHAPE = {
  messageBytes: 5000,
  fragmentBytesMin: 1,
  fragmentBytesMax: 4096,
  slotBytes: 4096,
  isAligned: false,
};

test('scatter list: an entry is source u32, length u32, target u64, little-endian', () => {
  const entries = new Uint32Array(2 * ENTRY_PARTS);
  const fragment = { sourceOffset: 0x01020304, bytes: 1448, targetOffset: 0x5_0000_0007 };
  writeFragment(entries, 1, fragment);
  const view = new DataView(entries.buffer);
  assert.equal(view.getUint32(16, true), 0x01020304);
  assert.equal(view.getUint32(20, true), 1448);
  assert.equal(view.getBigUint64(24, true), 0x5_0000_0007n);
  assert.deepEqual(readFragment(entries, 1), fragment);
});

test('scatter list: checked and packed in one pass, it says the same', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 600_000 }), (seed, messageBytes) => {
      const random = seededRandom(seed);
      const fragmentBytesMax = random.nextBetween(1, 12_000);
      const shape = { ...LIST_SHAPE, messageBytes, fragmentBytesMax, slotBytes: 12_000 };
      const { entries, fragments, bounceBytes } = randomList(random, shape);
      const packed = new Uint32Array(PACKED_FRAGMENTS_MAX * PACKED_PARTS);
      const count = fragments.length;
      if (count > FRAGMENTS_MAX) return;
      const longest = checkFragments(entries, count, messageBytes, bounceBytes, packed);
      assert.equal(longest, checkFragments(entries, count, messageBytes, bounceBytes, NOT_PACKED));
      if (!isPackable(count, longest, messageBytes)) return;
      fragments.forEach(({ sourceOffset, bytes, targetOffset }, index) => {
        const [source = 0, rest = 0] = packed.subarray(index * PACKED_PARTS);
        assert.deepEqual([source, rest & 8191, rest >>> 13], [sourceOffset, bytes, targetOffset]);
      });
    }),
  );
});

test('scatter list: what does not fit into a packed entry is not packable', () => {
  assert.ok(isPackable(144, 8191, 512 * 1024));
  assert.ok(!isPackable(145, 8191, 512 * 1024));
  assert.ok(!isPackable(144, 8192, 512 * 1024));
  assert.ok(!isPackable(144, 8191, 512 * 1024 + 1));
});

test('unpack: random lists give what a byte-by-byte copy gives', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 20_000 }), (seed, messageBytes) => {
      const random = seededRandom(seed);
      const list = randomList(random, { ...LIST_SHAPE, messageBytes });
      const bounce = randomBytes(random, list.bounceBytes);
      const limits = { count: list.fragments.length, expectedBytes: messageBytes };
      validateScatterList(list.entries, { ...limits, bounceBytes: list.bounceBytes });
      const wanted = new Uint8Array(messageBytes);
      for (const { sourceOffset, bytes, targetOffset } of list.fragments) {
        for (let index = 0; index < bytes; index++) {
          wanted[targetOffset + index] = bounce[sourceOffset + index]!;
        }
      }
      const target = new Uint8Array(messageBytes).fill(0xee);
      unpackHost(list.entries, list.fragments.length, bounce, target);
      assert.deepEqual(Buffer.from(target), Buffer.from(wanted));
    }),
    { numRuns: 60 },
  );
});

test('scatter list: any single field pushed out of its bounds is refused', () => {
  fc.assert(
    fc.property(fc.integer(), fc.nat(), fc.integer({ min: 1, max: 9 }), (seed, pick, excess) => {
      const random = seededRandom(seed);
      const list = randomList(random, LIST_SHAPE);
      const count = list.fragments.length;
      const limits = { count, expectedBytes: 5000, bounceBytes: list.bounceBytes };
      const index = pick % count;
      const good = readFragment(list.entries, index);
      const breakWith = (change: Partial<typeof good>) => {
        const entries = list.entries.slice();
        writeFragment(entries, index, { ...good, ...change });
        return ruleOf(() => validateScatterList(entries, limits));
      };
      const sourceOffset = list.bounceBytes - good.bytes + excess;
      assert.equal(breakWith({ sourceOffset }), ScatterRule.SourceBounds);
      const targetOffset = 5000 - good.bytes + excess;
      assert.equal(breakWith({ targetOffset }), ScatterRule.TargetBounds);
      assert.equal(breakWith({ targetOffset: 2 ** 40 }), ScatterRule.TargetBounds);
      assert.equal(breakWith({ bytes: good.bytes - 1 }), ScatterRule.Sum);
      assert.equal(breakWith({ bytes: 0xffffffff }), ScatterRule.SourceBounds);
    }),
    { numRuns: 60 },
  );
});

test('scatter list: 2048 fragments pass, 2049 and more than the memory holds do not', () => {
  const entries = new Uint32Array((FRAGMENTS_MAX + 1) * ENTRY_PARTS);
  for (let index = 0; index <= FRAGMENTS_MAX; index++) {
    writeFragment(entries, index, { sourceOffset: index, bytes: 1, targetOffset: index });
  }
  const limits = (count: number) => ({ count, expectedBytes: count, bounceBytes: 4096 });
  assert.equal(validateScatterList(entries, limits(FRAGMENTS_MAX)), 1);
  const tooMany = ScatterRule.TooManyFragments;
  assert.equal(
    ruleOf(() => validateScatterList(entries, limits(FRAGMENTS_MAX + 1))),
    tooMany,
  );
  const short = entries.subarray(0, ENTRY_PARTS);
  assert.equal(
    ruleOf(() => validateScatterList(short, limits(2))),
    tooMany,
  );
});

test('scatter list: an empty message is an empty list', () => {
  const limits = { count: 0, expectedBytes: 0, bounceBytes: 0 };
  assert.equal(validateScatterList(new Uint32Array(0), limits), 0);
  const short = { ...limits, expectedBytes: 1 };
  assert.equal(
    ruleOf(() => validateScatterList(new Uint32Array(0), short)),
    ScatterRule.Sum,
  );
});

test('gather and scatter: random tables give what a byte-by-byte copy gives', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 60 }), (seed, count) => {
      const random = seededRandom(seed);
      const shape = { count, blockBytesMin: 1, blockBytesMax: 300, slotBytes: 320 };
      const made = randomTable(random, { ...shape, isAligned: false });
      validateBlockTable(made.table, { count, ...made });
      const region = randomBytes(random, made.regionBytes);
      const wanted = made.blocks.flatMap(({ offset, bytes }) => [
        ...region.subarray(offset, offset + bytes),
      ]);
      const staging = new Uint8Array(made.stagingBytes).fill(0xee);
      gatherHost(made.table, count, region, staging);
      assert.deepEqual([...staging], wanted);
      const returned = new Uint8Array(made.regionBytes).fill(0xdd);
      scatterHost(made.table, count, staging, returned);
      const inBlock = new Set(
        made.blocks.flatMap(({ offset, bytes }) =>
          Array.from({ length: bytes }, (_, index) => offset + index),
        ),
      );
      for (let index = 0; index < returned.length; index++) {
        assert.equal(returned[index], inBlock.has(index) ? region[index] : 0xdd);
      }
    }),
    { numRuns: 40 },
  );
});

test('block table: a block beyond region or staging buffer is refused', () => {
  const table = new Uint32Array([100, 0, 0, 28]);
  const limits = { count: 1, regionBytes: 128, stagingBytes: 28 };
  assert.equal(validateBlockTable(table, limits), 28);
  for (const change of [{ regionBytes: 127 }, { stagingBytes: 27 }, { count: 2 }]) {
    assert.throws(
      () => validateBlockTable(table, { ...limits, ...change }),
      (error: unknown) => isTcpxError(error, 'ERR_USAGE_ARGUMENT'),
    );
  }
});
