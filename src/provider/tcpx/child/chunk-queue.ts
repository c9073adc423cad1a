// Chunks of one channel and direction in the order of their commands: rows of numbers, kept from
// their arrival until the last step of each is over. Grows by doubling; nothing is made per chunk.

import { assert } from '../../../base/assert.js';
import {
  CHUNK_BYTES,
  CHUNK_FIELDS,
  CHUNK_INDEX,
  CHUNK_OFFSET,
  CHUNK_PIECES,
  CHUNK_TAG,
} from '../host-layout.js';
import type { ChunkFacts } from './guarded-plugin.js';
import { PieceQueue } from './piece-queue.js';

/** In the row behind the fields of the record: position of its first piece. */
const FIRST_PIECE = CHUNK_FIELDS;
const ROW_FIELDS = CHUNK_FIELDS + 1;

const ROWS_AT_START = 64;
/** Twice tcpx.peerChunksMax, and what this end posts itself: a queue that passes it is a bug. */
const ROWS_MAX = 1 << 22;

/** The chunk at a position; one object per queue, overwritten by each load. */
export class ChunkRow implements ChunkFacts {
  chunk = 0;
  tag = 0;
  offset = 0;
  bytes = 0;
}

export class ChunkQueue {
  readonly row = new ChunkRow();
  readonly pieces = new PieceQueue();
  /** Positions [released, pushed) are held. */
  pushed = 0;
  released = 0;
  #rows = new Float64Array(ROWS_AT_START * ROW_FIELDS);
  #capacity = ROWS_AT_START;

  /** Copies a record of CHUNK_FIELDS numbers, and the pieces behind it. */
  push(source: Float64Array, at: number): void {
    if (this.pushed - this.released === this.#capacity) this.#grow();
    const row = (this.pushed & (this.#capacity - 1)) * ROW_FIELDS;
    for (let field = 0; field < CHUNK_FIELDS; field++) {
      this.#rows[row + field] = source[at + field] ?? 0;
    }
    const count = source[at + CHUNK_PIECES] ?? 0;
    if (count > 0) {
      this.#rows[row + FIRST_PIECE] = this.pieces.push(source, at + CHUNK_FIELDS, count);
    }
    this.pushed++;
  }

  field(position: number, field: number): number {
    return this.#rows[(position & (this.#capacity - 1)) * ROW_FIELDS + field] ?? 0;
  }

  firstPiece(position: number): number {
    return this.field(position, FIRST_PIECE);
  }

  load(position: number): ChunkRow {
    const { row } = this;
    row.chunk = this.field(position, CHUNK_INDEX);
    row.tag = this.field(position, CHUNK_TAG);
    row.offset = this.field(position, CHUNK_OFFSET);
    row.bytes = this.field(position, CHUNK_BYTES);
    return row;
  }

  /** The oldest position is no longer needed. */
  release(): void {
    assert(this.released < this.pushed, 'a chunk is released once');
    this.pieces.release(this.field(this.released, CHUNK_PIECES));
    this.released++;
  }

  #grow(): void {
    assert(this.#capacity < ROWS_MAX, 'the application bounds the chunks of a channel');
    const rows = new Float64Array(this.#capacity * 2 * ROW_FIELDS);
    const mask = this.#capacity * 2 - 1;
    for (let position = this.released; position < this.pushed; position++) {
      for (let field = 0; field < ROW_FIELDS; field++) {
        rows[(position & mask) * ROW_FIELDS + field] = this.field(position, field);
      }
    }
    this.#rows = rows;
    this.#capacity *= 2;
  }
}
