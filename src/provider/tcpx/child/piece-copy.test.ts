import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { viewMemory } from '../../../ffi/libc/library.js';
import { copyMemory, mapMemory, unmapMemory, viewMapping } from '../../../ffi/libc/mapping.js';
import { BLOCK_ENTRY_BYTES, BLOCK_ENTRY_PARTS } from '../../../gpu/block-table.js';
import { PIECE_FIELDS } from '../host-layout.js';
import { DONE_AT_ONCE } from './chunk-mover.js';
import { type BlockMover, GpuPieces } from './gpu-pieces.js';
import { PieceCopier } from './piece-copy.js';
import { CpuPieces, type PieceDirection, type PieceMover } from './piece-mover.js';
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

/** Launches and calls of a copy engine, done on the processor at once. */
class HostBlocks implements BlockMover {
  launches = 0;
  copies = 0;
  /** Tables that were made and not freed. */
  held = 0;
  readonly hasKernels: boolean;

  constructor(hasKernels: boolean) {
    this.hasKernels = hasKernels;
  }

  pinned(bytes: number) {
    const memory = mapMemory(bytes);
    this.held++;
    const free = (): void => {
      this.held--;
      unmapMemory(memory);
    };
    return { buffer: viewMapping(memory), deviceAddr: memory.addr, free };
  }

  copy(targetAddr: number, sourceAddr: number, bytes: number): number {
    copyMemory(targetAddr, sourceAddr, bytes);
    return ++this.copies;
  }

  moveBlocks(direction: PieceDirection, copy: Parameters<BlockMover['moveBlocks']>[1]): number {
    const { tableAddr, count, stagingAddr } = copy;
    const words = new Uint32Array(viewMemory(tableAddr, count * BLOCK_ENTRY_BYTES));
    let longestBytes = 0;
    for (let at = 0; at < words.length; at += BLOCK_ENTRY_PARTS) {
      const [low = 0, high = 0, offset = 0, bytes = 0] = words.subarray(at, at + 4);
      const block = high * 2 ** 32 + low;
      const staged = stagingAddr + offset;
      if (direction === 'gather') copyMemory(staged, block, bytes);
      else copyMemory(block, staged, bytes);
      longestBytes = Math.max(longestBytes, bytes);
    }
    assert.equal(copy.longestBytes, longestBytes);
    return ++this.launches;
  }
}

const LIMITS = { window: 3, piecesMax: 60 + REGION_BYTES };

test('pieces: the processor gathers and scatters them by any fragments', () => {
  movesPieces((direction) => new CpuPieces(direction));
});

for (const hasKernels of [true, false]) {
  const by = hasKernels ? 'launches' : 'the copy engine alone';
  test(`pieces: the GPU gathers and scatters them by any fragments, by ${by}`, () => {
    const blocks = new HostBlocks(hasKernels);
    const made: GpuPieces[] = [];
    movesPieces((direction) => {
      const pieces = new GpuPieces(blocks, direction, LIMITS);
      made.push(pieces);
      return pieces;
    });
    assert.equal(blocks.launches > 0, hasKernels);
    // A few pieces are no matter for a kernel.
    assert.ok(blocks.copies > 0);
    for (const pieces of made) pieces.free();
    assert.equal(blocks.held, 0);
  });
}

test('pieces: one launch for all of a chunk, a table of its own for each under way', () => {
  const blocks = new HostBlocks(true);
  const tables: number[] = [];
  const moveBlocks: BlockMover['moveBlocks'] = (_direction, { tableAddr, count }) => {
    assert.equal(count, 5);
    return tables.push(tableAddr);
  };
  const mover = Object.assign(blocks, { moveBlocks });
  const pieces = new GpuPieces(mover, 'gather', { window: 3, piecesMax: 8 });
  for (let position = 0; position < 6; position++) {
    pieces.begin(position, 0);
    for (let piece = 0; piece < 5; piece++) pieces.add(2 ** 40 + piece, piece, 1);
    assert.equal(pieces.end(), position + 1);
  }
  assert.deepEqual(tables.slice(3), tables.slice(0, 3), 'the window has gone round');
  assert.equal(new Set(tables).size, 3);
  pieces.begin(6, 0);
  assert.equal(pieces.end(), DONE_AT_ONCE, 'of no pieces nothing is launched');
  pieces.free();
});

test('pieces: fragments that overlap in too many pieces are a bad list, no table overrun', () => {
  const pieces = new GpuPieces(new HostBlocks(true), 'scatter', { window: 2, piecesMax: 6 });
  pieces.begin(1, 0);
  for (let piece = 0; piece < 6; piece++) pieces.add(0, 0, 1);
  assert.throws(() => pieces.add(0, 0, 1), { code: 'ERR_NCCLNET_SCATTER_LIST' });
  pieces.free();
});

function movesPieces(moverFor: (direction: PieceDirection) => PieceMover): void {
  const regions = [mapMemory(REGION_BYTES), mapMemory(REGION_BYTES)];
  const message = mapMemory(REGION_BYTES);
  const bounce = mapMemory(REGION_BYTES);
  const views = [...regions, message, bounce].map((one) => new Uint8Array(viewMapping(one)));
  const [first, second, packed, pages] = views as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
  const addressOf = (id: number): number => regions[id]?.addr ?? 0;
  const gatherMover = moverFor('gather');
  const scatterMover = moverFor('scatter');
  let position = 0;
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
        const gatherer = new PieceCopier(pieces, gatherMover, addressOf);
        const scatterer = new PieceCopier(pieces, scatterMover, addressOf);
        const range = { first: at, count: bytes.length };
        for (let index = 0; index < REGION_BYTES; index++) {
          first[index] = index * 7;
          second[index] = index * 13 + 5;
        }
        gatherer.whole(position++, range, message.addr);
        const wanted = [first.slice(), second.slice()];
        const total = bytes.reduce((sum, length) => sum + length, 0);
        const entries = fragmentsOf(total, cut, o);
        for (let row = 0; row < entries.length; row += 4) {
          const [source = 0, length = 0, offset = 0] = entries.subarray(row, row + 3);
          pages.set(packed.subarray(offset, offset + length), source);
        }
        first.fill(0);
        second.fill(0);
        scatterer.fragments(position, range, entries, entries.length / 4, bounce.addr);
        assertPieces(pieces, at, bytes.length, wanted, [first, second]);
        first.fill(0);
        second.fill(0);
        scatterer.whole(position, range, message.addr);
        assertPieces(pieces, at, bytes.length, wanted, [first, second]);
      },
    ),
    { numRuns: 60 },
  );
  for (const one of [...regions, message, bounce]) unmapMemory(one);
}

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
