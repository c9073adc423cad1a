// Tags of chunks: one function for both ends. A connection counts its chunks from FIRST_TAG on, so
// that no tag comes twice; when the numbers of a connection are used up the next is refused. Pure.

import { assert } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import type { ChunkIndex, Tag } from '../base/quantity.js';

export const FIRST_TAG = 1;
/** The plugin takes a 32-bit signed number. */
export const TAG_MAX = 2 ** 31 - 1;

/** Tag of a chunk of the transfer whose first chunk has `firstTag`. */
export function chunkTag(firstTag: Tag, chunkIndex: ChunkIndex): Tag {
  const tag = firstTag + chunkIndex;
  assert(tag >= FIRST_TAG && tag <= TAG_MAX, 'a tag fits in 31 bits');
  return tag;
}

/** The tags of one direction of one connection, handed out in order. */
export class TagCounter {
  #next: number;

  constructor(first = FIRST_TAG) {
    this.#next = first;
  }

  get next(): number {
    return this.#next;
  }

  /** First tag of a transfer of `count` chunks. */
  reserve(count: number): number {
    if (this.#next + count - 1 > TAG_MAX) {
      throw new TcpxError(
        'ERR_USAGE_STATE',
        `tags: ${count} more after ${this.#next - 1} exceed ${TAG_MAX}; open a new session`,
      );
    }
    const first = this.#next;
    this.#next += count;
    return first;
  }
}
