import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isTcpxError } from '../base/errors.js';
import { chunkTag, FIRST_TAG, TAG_MAX, TagCounter } from './chunk-tag.js';
import { MATCHED_CHUNKS_MAX, planDigest, planMatched } from './matched-plan.js';

const blocks = fc.array(fc.integer({ min: 0, max: 5000 }), { maxLength: 40 });
const weights = fc
  .array(fc.integer({ min: 0, max: 50 }), { minLength: 1, maxLength: 16 })
  .filter((list) => list.some((weight) => weight > 0));
const chunk = fc.integer({ min: 1, max: 2000 });

const gather = fc.integer({ min: 0, max: 2000 });

test('matched plan: every byte is carried once, in order, by an open channel', () => {
  fc.assert(
    fc.property(blocks, chunk, weights, gather, (lengths, chunkBytes, shares, gatherBytes) => {
      const limit = Math.min(gatherBytes, chunkBytes);
      const plan = planMatched(lengths, chunkBytes, shares, limit);
      const carried = lengths.map(() => 0);
      for (let index = 0; index < plan.chunkCount; index++) {
        const first = plan.blocks[index]!;
        const count = plan.blockCounts[index]!;
        const bytes = plan.bytes[index]!;
        assert.ok(bytes > 0 && bytes <= chunkBytes);
        assert.ok(shares[plan.channels[index]!]! > 0);
        assert.equal(plan.blockOffsets[index], count > 1 ? 0 : carried[first]);
        const taken = lengths.slice(first, first + count);
        if (count > 1) {
          // Whole blocks, none of them large.
          assert.ok(taken.every((length) => length <= limit));
          for (let block = first; block < first + count; block++) {
            carried[block]! += lengths[block]!;
          }
          assert.equal(sum(taken), bytes);
        } else carried[first]! += bytes;
      }
      assert.deepEqual(carried, lengths);
      assert.equal(plan.totalBytes, sum(lengths));
    }),
  );
});

test('matched plan: small neighbours share a message until it is full', () => {
  fc.assert(
    fc.property(blocks, chunk, gather, (lengths, chunkBytes, gatherBytes) => {
      const limit = Math.min(gatherBytes, chunkBytes);
      const plan = planMatched(lengths, chunkBytes, [1], limit);
      for (let index = 1; index < plan.chunkCount; index++) {
        const next = plan.blocks[index]!;
        const isSmall = (block: number): boolean => lengths[block]! <= limit;
        const isGathered = isSmall(plan.blocks[index - 1]!) && isSmall(next);
        if (isGathered) assert.ok(plan.bytes[index - 1]! + lengths[next]! > chunkBytes);
      }
    }),
  );
});

test('matched plan: 100000 blocks of 1 KiB are 196 messages of 512 KiB', () => {
  const lengths = new Array<number>(100_000).fill(1024);
  const plan = planMatched(lengths, 524_288, [1, 1], 65_536);
  assert.equal(plan.chunkCount, Math.ceil(100_000 / 512));
  assert.equal(planMatched(lengths, 524_288, [1, 1]).chunkCount, 100_000, 'not asked for');
  const tiny = planMatched(new Array<number>(5000).fill(1), 524_288, [1], 65_536);
  assert.deepEqual([...tiny.blockCounts], [1024, 1024, 1024, 1024, 904], 'bounded work');
});

function sum(lengths: readonly number[]): number {
  return lengths.reduce((total, bytes) => total + bytes, 0);
}

test('matched plan: both ends derive the same order and the same digest', () => {
  fc.assert(
    fc.property(blocks, chunk, weights, (lengths, chunkBytes, shares) => {
      const here = planMatched(lengths, chunkBytes, shares);
      const there = planMatched(Float64Array.from(lengths), chunkBytes, [...shares]);
      assert.deepEqual(here, there);
      assert.equal(planDigest(here), planDigest(there));
    }),
  );
});

test('matched plan: equal weights give chunk k to channel k mod N', () => {
  const plan = planMatched([10 * 512], 512, [3, 3, 3]);
  assert.deepEqual([...plan.channels], [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
});

test('matched plan: chunks follow the weights within one chunk per channel', () => {
  fc.assert(
    fc.property(weights, fc.integer({ min: 1, max: 400 }), (shares, count) => {
      const plan = planMatched([count], 1, shares);
      const sum = shares.reduce((total, weight) => total + weight, 0);
      for (const [channel, weight] of shares.entries()) {
        const due = (count * weight) / sum;
        assert.ok(Math.abs(plan.channelChunks[channel]! - due) <= shares.length);
      }
    }),
  );
});

test('matched plan: another length, chunk or weight changes the digest', () => {
  const base = planDigest(planMatched([4096, 100], 512, [1, 1]));
  assert.notEqual(planDigest(planMatched([4096, 101], 512, [1, 1])), base);
  assert.notEqual(planDigest(planMatched([4096, 100], 511, [1, 1])), base);
  assert.notEqual(planDigest(planMatched([4096, 100], 512, [2, 1])), base);
  const small = [100, 100];
  const gathered = planDigest(planMatched(small, 512, [1], 100));
  assert.notEqual(gathered, planDigest(planMatched(small, 512, [1])));
  assert.notEqual(gathered, planDigest(planMatched([200], 512, [1])));
});

test('matched plan: bad weights, lengths and too many chunks are refused', () => {
  const refused = (plan: () => unknown): void => {
    assert.throws(plan, (error) => isTcpxError(error, 'ERR_USAGE_ARGUMENT'));
  };
  refused(() => planMatched([1], 1, []));
  refused(() => planMatched([1], 1, [0, 0]));
  refused(() => planMatched([1], 1, [1.5]));
  refused(() => planMatched([1], 1, new Array<number>(17).fill(1)));
  refused(() => planMatched([-1], 1, [1]));
  refused(() => planMatched([1], 0, [1]));
  refused(() => planMatched([1], 10, [1], 11));
  refused(() => planMatched([1], 10, [1], -1));
  refused(() => planMatched([MATCHED_CHUNKS_MAX + 1], 1, [1]));
});

test('tags: unique over any sequence of transfers of a connection', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 60 }), (counts) => {
      const sender = new TagCounter();
      const receiver = new TagCounter();
      const seen = new Set<number>();
      for (const count of counts) {
        const first = sender.reserve(count);
        assert.equal(receiver.reserve(count), first, 'both ends count alike');
        for (let index = 0; index < count; index++) seen.add(chunkTag(first, index));
      }
      const total = counts.reduce((sum, count) => sum + count, 0);
      assert.equal(seen.size, total);
      assert.ok([...seen].every((tag) => tag >= FIRST_TAG && tag <= TAG_MAX));
    }),
  );
});

test('tags: the last one is given, one more is refused and takes nothing', () => {
  const counter = new TagCounter(TAG_MAX - 2);
  assert.equal(chunkTag(counter.reserve(3), 2), TAG_MAX);
  assert.throws(
    () => counter.reserve(1),
    (error) => isTcpxError(error, 'ERR_USAGE_STATE'),
  );
  assert.equal(counter.next, TAG_MAX + 1);
  assert.throws(() => chunkTag(TAG_MAX, 1), /31 bits/);
});
