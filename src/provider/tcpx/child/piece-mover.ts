// Who moves the pieces of a gathered chunk between where they belong and one staging place, in
// which they are a message: a slot of the ring, the buffer of a host receive, the bounce buffer.

import { assert } from '../../../base/assert.js';
import type { Address, ByteCount } from '../../../base/quantity.js';
import { copyMemory } from '../../../ffi/libc/mapping.js';
import { DONE_AT_ONCE } from './chunk-mover.js';

/** Pieces → staging place, at the sender; staging place → pieces, at the receiver. */
export type PieceDirection = 'gather' | 'scatter';

export interface PieceMover {
  /** What is added from here on belongs to the chunk at this position of its channel. */
  begin(position: number, stagingAddr: Address): void;
  add(pieceAddr: Address, stagingOffset: ByteCount, bytes: ByteCount): void;
  /** All that was added is under way. The number of the copy that stands for all of it. */
  end(): number;
}

/** The processor: done at once. */
export class CpuPieces implements PieceMover {
  readonly #direction: PieceDirection;
  #stagingAddr: number | undefined;

  constructor(direction: PieceDirection) {
    this.#direction = direction;
  }

  begin(_position: number, stagingAddr: Address): void {
    this.#stagingAddr = stagingAddr;
  }

  add(pieceAddr: Address, stagingOffset: ByteCount, bytes: ByteCount): void {
    assert(this.#stagingAddr !== undefined, 'pieces are added to a chunk that has begun');
    const staged = this.#stagingAddr + stagingOffset;
    if (this.#direction === 'gather') copyMemory(staged, pieceAddr, bytes);
    else copyMemory(pieceAddr, staged, bytes);
  }

  end(): number {
    return DONE_AT_ONCE;
  }
}
