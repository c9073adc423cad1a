// Pieces of gathered chunks, in the order of their chunks: rows of region, offset and length, kept
// until their chunk is finished. Grows by doubling; nothing is made per piece.

import { assert } from '../../../base/assert.js';
import { PIECE_BYTES, PIECE_FIELDS, PIECE_OFFSET, PIECE_REGION } from '../host-layout.js';

const ROWS_AT_START = 1024;
const ROWS_MAX = 1 << 24;

export class PieceQueue {
  /** Positions [released, pushed) are held. */
  pushed = 0;
  released = 0;
  #rows = new Float64Array(ROWS_AT_START * PIECE_FIELDS);
  #capacity = ROWS_AT_START;

  /** Copies `count` rows; returns the position of the first. */
  push(source: Float64Array, at: number, count: number): number {
    while (this.pushed + count - this.released > this.#capacity) this.#grow();
    const first = this.pushed;
    for (let index = 0; index < count; index++) {
      const row = this.#row(first + index);
      for (let field = 0; field < PIECE_FIELDS; field++) {
        this.#rows[row + field] = source[at + index * PIECE_FIELDS + field] ?? 0;
      }
    }
    this.pushed += count;
    return first;
  }

  region(position: number): number {
    return this.#rows[this.#row(position) + PIECE_REGION] ?? 0;
  }

  offset(position: number): number {
    return this.#rows[this.#row(position) + PIECE_OFFSET] ?? 0;
  }

  bytes(position: number): number {
    return this.#rows[this.#row(position) + PIECE_BYTES] ?? 0;
  }

  /** The oldest are no longer needed. */
  release(count: number): void {
    assert(this.released + count <= this.pushed, 'pieces are released once');
    this.released += count;
  }

  #row(position: number): number {
    return (position & (this.#capacity - 1)) * PIECE_FIELDS;
  }

  #grow(): void {
    assert(this.#capacity < ROWS_MAX, 'the application bounds the pieces of a channel');
    const rows = new Float64Array(this.#capacity * 2 * PIECE_FIELDS);
    const mask = this.#capacity * 2 - 1;
    for (let position = this.released; position < this.pushed; position++) {
      const from = this.#row(position);
      rows.set(this.#rows.subarray(from, from + PIECE_FIELDS), (position & mask) * PIECE_FIELDS);
    }
    this.#rows = rows;
    this.#capacity *= 2;
  }
}
