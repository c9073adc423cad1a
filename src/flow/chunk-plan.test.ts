import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  CHUNK_BYTES_FLOOR,
  type ChunkLimits,
  emptyColumns,
  mergePairs,
  type PairColumns,
  planChunks,
} from './chunk-plan.js';

interface Pair {
  readonly localAddr: number;
  readonly remoteOffset: number;
  readonly bytes: number;
  readonly remoteIndex: number;
}

function columnsOf(pairs: readonly Pair[]): PairColumns {
  const columns = emptyColumns(pairs.length);
  for (const [index, pair] of pairs.entries()) {
    columns.localAddr[index] = pair.localAddr;
    columns.remoteOffset[index] = pair.remoteOffset;
    columns.bytes[index] = pair.bytes;
    columns.remoteIndex[index] = pair.remoteIndex;
  }
  return columns;
}

function pairsOf(columns: PairColumns): Pair[] {
  return Array.from({ length: columns.count }, (_, index) => ({
    localAddr: columns.localAddr[index]!,
    remoteOffset: columns.remoteOffset[index]!,
    bytes: columns.bytes[index]!,
    remoteIndex: columns.remoteIndex[index]!,
  }));
}

const somePairs = fc.array(
  fc.record({
    localAddr: fc.integer({ min: 4096, max: 2 ** 46 }),
    remoteOffset: fc.integer({ min: 0, max: 2 ** 46 }),
    bytes: fc.oneof(
      fc.integer({ min: 1, max: 64 }),
      fc.integer({ min: 1, max: 300_000 }),
      fc.integer({ min: 1, max: 5_000_000 }),
    ),
    remoteIndex: fc.integer({ min: 0, max: 2 }),
  }),
  { minLength: 1, maxLength: 60 },
);
const someLimits: fc.Arbitrary<ChunkLimits> = fc.record({
  chunkBytes: fc.constantFrom(4096, 65536, 524288, 1_000_003),
  channels: fc.constantFrom(1, 2, 4, 8, 16),
  pairsMax: fc.constantFrom(1, 2, 7, 1000),
});

/** Every byte that the plan moves, as pieces in order. */
function piecesOf(pairs: PairColumns, limits: ChunkLimits) {
  return planChunks(pairs, limits).flatMap((chunk) => {
    let left = chunk.bytes;
    let skip = chunk.skipBytes;
    const pieces: Pair[] = [];
    for (let index = chunk.firstPair; index < chunk.firstPair + chunk.pairCount; index++) {
      const bytes = Math.min(left, pairs.bytes[index]! - skip);
      assert.ok(bytes > 0, 'no pair of a chunk is empty');
      pieces.push({
        localAddr: pairs.localAddr[index]! + skip,
        remoteOffset: pairs.remoteOffset[index]! + skip,
        bytes,
        remoteIndex: chunk.remoteIndex,
      });
      left -= bytes;
      skip = 0;
    }
    assert.equal(left, 0, 'the pairs of a chunk hold its bytes');
    return pieces;
  });
}

/** Joins pieces of one pair again. */
function rejoin(pieces: readonly Pair[], pairs: readonly Pair[]): Pair[] {
  const joined: Pair[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    const whole = pairs[joined.length - 1];
    if (last !== undefined && whole !== undefined && last.bytes < whole.bytes) {
      assert.equal(piece.localAddr, last.localAddr + last.bytes, 'local bytes follow each other');
      assert.equal(piece.remoteOffset, last.remoteOffset + last.bytes);
      joined[joined.length - 1] = { ...last, bytes: last.bytes + piece.bytes };
    } else {
      joined.push(piece);
    }
  }
  return joined;
}

test('chunk plan: chunks cover every pair exactly once, in order', () => {
  fc.assert(
    fc.property(somePairs, someLimits, (given, limits) => {
      const pairs = mergePairs(columnsOf(given));
      assert.deepEqual(rejoin(piecesOf(pairs, limits), pairsOf(pairs)), pairsOf(pairs));
    }),
  );
});

test('chunk plan: no chunk exceeds its limits or mixes remote regions', () => {
  fc.assert(
    fc.property(somePairs, someLimits, (given, limits) => {
      const pairs = mergePairs(columnsOf(given));
      for (const chunk of planChunks(pairs, limits)) {
        assert.ok(chunk.bytes >= 1 && chunk.bytes <= limits.chunkBytes);
        assert.ok(chunk.pairCount >= 1 && chunk.pairCount <= limits.pairsMax);
        for (let index = 0; index < chunk.pairCount; index++) {
          assert.equal(pairs.remoteIndex[chunk.firstPair + index], chunk.remoteIndex);
        }
      }
    }),
  );
});

test('chunk plan: one channel gets full chunks and a rest', () => {
  const pairs = columnsOf([{ localAddr: 4096, remoteOffset: 0, bytes: 1_300_000, remoteIndex: 0 }]);
  const chunks = planChunks(pairs, { chunkBytes: 524288, channels: 1, pairsMax: 1000 });
  assert.deepEqual(
    chunks.map((chunk) => chunk.bytes),
    [524288, 524288, 251424],
  );
});

test('chunk plan: for several channels the last chunks shrink, down to the floor', () => {
  const totalBytes = 64 * 1024 * 1024;
  const pairs = columnsOf([
    { localAddr: 4096, remoteOffset: 0, bytes: totalBytes, remoteIndex: 0 },
  ]);
  for (const channels of [2, 4, 8]) {
    const chunks = planChunks(pairs, { chunkBytes: 524288, channels, pairsMax: 1000 });
    const sizes = chunks.map((chunk) => chunk.bytes);
    assert.equal(sizes[0], 524288);
    for (let index = 1; index < sizes.length; index++) {
      assert.ok(sizes[index]! <= sizes[index - 1]!, 'sizes never grow');
    }
    assert.ok(sizes.slice(0, -1).every((bytes) => bytes >= CHUNK_BYTES_FLOOR));
    assert.ok(sizes.at(-2)! < 2 * CHUNK_BYTES_FLOOR, 'the end is fine-grained');
    assert.ok(sizes.length < 128 + 8 * channels * 4, `${sizes.length} chunks`);
  }
});

test('chunk plan: a chunk size below the floor is kept for several channels', () => {
  const pairs = columnsOf([{ localAddr: 4096, remoteOffset: 0, bytes: 40_000, remoteIndex: 0 }]);
  const chunks = planChunks(pairs, { chunkBytes: 4096, channels: 4, pairsMax: 1000 });
  assert.ok(chunks.slice(0, -1).every((chunk) => chunk.bytes === 4096));
});

test('chunk plan: small blocks travel together and are not cut', () => {
  const blocks = Array.from({ length: 100 }, (_, index) => ({
    localAddr: 4096 + index * 20_000,
    remoteOffset: index * 30_000,
    bytes: 10_000,
    remoteIndex: 0,
  }));
  const chunks = planChunks(columnsOf(blocks), { chunkBytes: 65536, channels: 1, pairsMax: 1000 });
  assert.ok(chunks.every((chunk) => chunk.skipBytes === 0));
  assert.deepEqual(chunks[0], {
    firstPair: 0,
    pairCount: 6,
    skipBytes: 0,
    bytes: 60_000,
    remoteIndex: 0,
  });
});

test('merge: neighbours on both sides become one pair; one side alone does not', () => {
  const merged = mergePairs(
    columnsOf([
      { localAddr: 1000, remoteOffset: 0, bytes: 10, remoteIndex: 0 },
      { localAddr: 1010, remoteOffset: 10, bytes: 5, remoteIndex: 0 },
      { localAddr: 1015, remoteOffset: 100, bytes: 5, remoteIndex: 0 },
      { localAddr: 2000, remoteOffset: 105, bytes: 5, remoteIndex: 0 },
      { localAddr: 2005, remoteOffset: 110, bytes: 5, remoteIndex: 1 },
    ]),
  );
  assert.deepEqual(
    pairsOf(merged).map((pair) => [pair.localAddr, pair.bytes, pair.remoteIndex]),
    [
      [1000, 15, 0],
      [1015, 5, 0],
      [2000, 5, 0],
      [2005, 5, 1],
    ],
  );
});

test('merge: pairs are grouped by remote region, in their own order', () => {
  fc.assert(
    fc.property(somePairs, (given) => {
      const merged = pairsOf(mergePairs(columnsOf(given)));
      const indexes = merged.map((pair) => pair.remoteIndex);
      assert.deepEqual(indexes, [...indexes].sort());
      for (const remote of [0, 1, 2]) {
        const before = given.filter((pair) => pair.remoteIndex === remote);
        const after = merged.filter((pair) => pair.remoteIndex === remote);
        const sum = (pairs: readonly Pair[]) =>
          pairs.reduce((bytes, pair) => bytes + pair.bytes, 0);
        assert.equal(sum(after), sum(before));
        const starts = before.map((pair) => pair.localAddr);
        let at = -1;
        for (const pair of after) {
          at = starts.indexOf(pair.localAddr, at + 1);
          assert.ok(at >= 0, 'each pair starts where a given one started, in order');
        }
      }
    }),
  );
});

test('merge: a hundred thousand neighbours become one', () => {
  const count = 100_000;
  const columns = emptyColumns(count);
  for (let index = 0; index < count; index++) {
    columns.localAddr[index] = 4096 + index * 16;
    columns.remoteOffset[index] = index * 16;
    columns.bytes[index] = 16;
  }
  const merged = mergePairs(columns);
  assert.equal(merged.count, 1);
  assert.equal(merged.bytes[0], count * 16);
});
