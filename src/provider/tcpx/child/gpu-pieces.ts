// Pieces of a gathered chunk, moved by the rail GPU: what goes where is written into a table that
// the GPU reads, and one launch moves all of it. With a call of the copy engine for each piece of
// each fragment, blocks of 16 KiB went at a sixth of the rate of one block.
//
//   tables, pinned:  │ position 0 │ position 1 │ … │ window − 1 │     one for each chunk in flight

import { assert, wordAt } from '../../../base/assert.js';
import { TcpxError } from '../../../base/errors.js';
import type { Address, ByteCount } from '../../../base/quantity.js';
import type { PinnedMemory } from '../../../ffi/cuda/pinned-memory.js';
import { BLOCK_ENTRY_BYTES, BLOCK_ENTRY_PARTS } from '../../../gpu/block-table.js';
import { DONE_AT_ONCE } from './chunk-mover.js';
import type { GpuMover } from './gpu-mover.js';
import type { PieceDirection, PieceMover } from './piece-mover.js';

/** So few go to the copy engine, which takes nothing from whoever computes on the GPU. */
const COPIES_MAX = 4;
const TWO_32 = 2 ** 32;

export interface PieceLimits {
  /** Chunks whose copies may be under way: a table for each. */
  readonly window: number;
  /** Pieces of one of them, where no two fragments overlap. */
  readonly piecesMax: number;
}

/** Memory that launches read. */
type TableMemory = Pick<PinnedMemory, 'buffer' | 'deviceAddr' | 'free'>;

/** What of the GPU's mover is asked for. */
export interface BlockMover extends Pick<GpuMover, 'copy' | 'hasKernels' | 'moveBlocks'> {
  pinned(bytes: ByteCount): TableMemory;
}

export class GpuPieces implements PieceMover {
  readonly #mover: BlockMover;
  readonly #direction: PieceDirection;
  readonly #limits: PieceLimits;
  /** Made for the first chunk of pieces: few channels see any. */
  #tables: TableMemory | undefined;
  #words = new Uint32Array(0);
  #stagingAddr = 0;
  #first = 0;
  #count = 0;
  #longestBytes = 0;

  constructor(mover: BlockMover, direction: PieceDirection, limits: PieceLimits) {
    this.#mover = mover;
    this.#direction = direction;
    this.#limits = limits;
  }

  begin(position: number, stagingAddr: Address): void {
    const { window, piecesMax } = this.#limits;
    if (this.#tables === undefined) {
      this.#tables = this.#mover.pinned(window * piecesMax * BLOCK_ENTRY_BYTES);
      this.#words = new Uint32Array(this.#tables.buffer);
    }
    this.#first = (position % window) * piecesMax;
    this.#stagingAddr = stagingAddr;
    this.#count = 0;
    this.#longestBytes = 0;
  }

  add(pieceAddr: Address, stagingOffset: ByteCount, bytes: ByteCount): void {
    if (this.#count === this.#limits.piecesMax) throw overlapError(this.#limits.piecesMax);
    const at = (this.#first + this.#count) * BLOCK_ENTRY_PARTS;
    this.#words[at] = pieceAddr;
    this.#words[at + 1] = pieceAddr / TWO_32;
    this.#words[at + 2] = stagingOffset;
    this.#words[at + 3] = bytes;
    this.#count++;
    if (bytes > this.#longestBytes) this.#longestBytes = bytes;
  }

  end(): number {
    if (this.#count === 0) return DONE_AT_ONCE;
    if (this.#count <= COPIES_MAX || !this.#mover.hasKernels) return this.#copyEach();
    assert(this.#tables !== undefined, 'pieces are added to a chunk that has begun');
    return this.#mover.moveBlocks(this.#direction, {
      tableAddr: this.#tables.deviceAddr + this.#first * BLOCK_ENTRY_BYTES,
      count: this.#count,
      baseAddr: 0,
      stagingAddr: this.#stagingAddr,
      longestBytes: this.#longestBytes,
    });
  }

  /** Nothing of it is under way any more. */
  free(): void {
    this.#tables?.free();
    this.#tables = undefined;
  }

  #copyEach(): number {
    let copy = DONE_AT_ONCE;
    for (let index = this.#first; index < this.#first + this.#count; index++) {
      const at = index * BLOCK_ENTRY_PARTS;
      const piece = wordAt(this.#words, at) + wordAt(this.#words, at + 1) * TWO_32;
      const staged = this.#stagingAddr + wordAt(this.#words, at + 2);
      const bytes = wordAt(this.#words, at + 3);
      const isGather = this.#direction === 'gather';
      copy = this.#mover.copy(isGather ? staged : piece, isGather ? piece : staged, bytes);
    }
    return copy;
  }
}

function overlapError(piecesMax: number): TcpxError {
  const message = `a message in more than ${piecesMax} pieces: its fragments overlap`;
  return new TcpxError('ERR_NCCLNET_SCATTER_LIST', message);
}
