import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mapMemory, unmapMemory, viewMapping } from '../../../ffi/libc/mapping.js';
import { PIECE_FIELDS } from '../host-layout.js';
import { CpuMover } from './chunk-mover.js';
import { PieceCopier } from './piece-copy.js';
import { PieceQueue } from './piece-queue.js';

const REGION_BYTES = 64 * 1024;
const lengths = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 60 });

/** Rows of pieces of these lengths, from the end of a region backwards with gaps in between. */
function rowsOf(bytes: readonly number[], gap: number): Float64Array {
  const rows = new Float64Array(bytes.length * PIECE_FIELDS);
  let at = REGION_BYTES;
  for (const [index, length] of bytes.entries()) {
    at -= length + gap;
    rows.set([index % 2, at, length], index * PIECE_FIELDS);
  }
  return rows;
}

/** [source offset, length, message offset, 0] in the order of `order`. */
function fragmentsOf(total: number, cut: number, order: readonly number[]): Uint32Array {
  const count = Math.ceil(total / cut);
  const entries = new Uint32Array(count * 4);
  const places = Array.from({ length: count }, (_, index) => index).sort(
    (a, b) => (order[a % order.length] ?? 0) - (order[b % order.length] ?? 0) || a - b,
  );
  for (const [row, place] of places.entries()) {
    const offset = place * cut;
    entries.set([REGION_BYTES - offset - cut, Math.min(cut, total - offset), offset, 0], row * 4);
  }
  return entries;
}

test('pieces: gathered at one end and scattered at the other, by any fragments', () => {
  const regions = [mapMemory(REGION_BYTES), mapMemory(REGION_BYTES)];
  const message = mapMemory(REGION_BYTES);
  const bounce = mapMemory(REGION_BYTES);
  const views = [...regions, message, bounce].map((one) => new Uint8Array(viewMapping(one)));
  const [first, second, packed, pages] = views as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  const addressOf = (id: number): number => regions[id]?.addr ?? 0;
  const order = fc.array(fc.nat(9), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(
      lengths,
      fc.nat(20),
      fc.integer({ min: 1, max: 500 }),
      order,
      (bytes, gap, cut, o) => {
        const pieces = new PieceQueue();
        // Rows of an earlier chunk are before them.
        pieces.push(rowsOf([7, 7, 7], 1), 0, 3);
        pieces.release(3);
        const at = pieces.push(rowsOf(bytes, gap), 0, bytes.length);
        const copier = new PieceCopier(pieces, new CpuMover('kernel', 4096, undefined), addressOf);
        for (let index = 0; index < REGION_BYTES; index++) {
          first[index] = index * 7;
          second[index] = index * 13 + 5;
        }
        copier.gather(at, bytes.length, message.addr);
        const wanted = [first.slice(), second.slice()];
        const total = bytes.reduce((sum, length) => sum + length, 0);
        const entries = fragmentsOf(total, cut, o);
        for (let row = 0; row < entries.length; row += 4) {
          const [source = 0, length = 0, offset = 0] = entries.subarray(row, row + 3);
          pages.set(packed.subarray(offset, offset + length), source);
        }
        first.fill(0);
        second.fill(0);
        copier.scatterFragments(at, bytes.length, entries, entries.length / 4, bounce.addr);
        assertPieces(pieces, at, bytes.length, wanted, [first, second]);
        first.fill(0);
        second.fill(0);
        copier.scatter(at, bytes.length, message.addr);
        assertPieces(pieces, at, bytes.length, wanted, [first, second]);
      },
    ),
    { numRuns: 60 },
  );
  for (const one of [...regions, message, bounce]) unmapMemory(one);
});

function assertPieces(
  pieces: PieceQueue,
  first: number,
  count: number,
  wanted: readonly Uint8Array[],
  seen: readonly Uint8Array[],
): void {
  const expected = wanted.map((bytes) => new Uint8Array(bytes.length));
  for (let position = first; position < first + count; position++) {
    const region = pieces.region(position);
    const offset = pieces.offset(position);
    const end = offset + pieces.bytes(position);
    expected[region]?.set(wanted[region]?.subarray(offset, end) ?? [], offset);
  }
  // Nothing beside the pieces is touched.
  for (const [index, bytes] of expected.entries()) {
    assert.equal(Buffer.compare(seen[index] ?? new Uint8Array(0), bytes), 0);
  }
}

test('pieces: a queue keeps what is held while it grows', () => {
  const pieces = new PieceQueue();
  const rows = Float64Array.from({ length: 900 * PIECE_FIELDS }, (_, index) => index);
  pieces.push(rows, 0, 900);
  pieces.release(800);
  const second = pieces.push(rows, 0, 900);
  const third = pieces.push(rows, 0, 900);
  assert.deepEqual([second, third], [900, 1800]);
  for (const start of [900, 1800]) {
    assert.equal(pieces.offset(start + 899), 899 * PIECE_FIELDS + 1);
  }
  assert.equal(pieces.bytes(850), 850 * PIECE_FIELDS + 2);
  assert.throws(() => pieces.release(1901), /released once/);
});
