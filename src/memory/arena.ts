// Allocation inside one reserved range: first fit over a sorted free list, neighbours merged.
// Pure: it hands out offsets and never touches the memory.

import { assert } from '../base/assert.js';

export const ARENA_ALIGNMENT = 64;

interface FreeRange {
  offset: number;
  bytes: number;
}

export class Arena {
  readonly #free: FreeRange[];
  readonly #bytes: number;
  #usedBytes = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
    this.#free = [{ offset: 0, bytes }];
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Offset of a fresh range, or −1 when no free range is large enough. */
  allocate(bytes: number): number {
    const needed = roundUp(bytes);
    for (const [index, range] of this.#free.entries()) {
      if (range.bytes < needed) continue;
      const offset = range.offset;
      range.offset += needed;
      range.bytes -= needed;
      if (range.bytes === 0) this.#free.splice(index, 1);
      this.#usedBytes += needed;
      return offset;
    }
    return -1;
  }

  /** Gives a range back; `bytes` is what allocate was asked for. */
  free(offset: number, bytes: number): void {
    const size = roundUp(bytes);
    assert(offset >= 0 && offset + size <= this.#bytes, 'freed range lies in the arena');
    let index = this.#free.findIndex((range) => range.offset > offset);
    if (index < 0) index = this.#free.length;
    const previous = this.#free[index - 1];
    const next = this.#free[index];
    assert(previous === undefined || previous.offset + previous.bytes <= offset, 'no double free');
    assert(next === undefined || offset + size <= next.offset, 'no double free');
    this.#usedBytes -= size;
    this.#free.splice(index, 0, { offset, bytes: size });
    this.#mergeAt(index);
    this.#mergeAt(index - 1);
  }

  #mergeAt(index: number): void {
    const range = this.#free[index];
    const next = this.#free[index + 1];
    if (range === undefined || next === undefined) return;
    if (range.offset + range.bytes !== next.offset) return;
    range.bytes += next.bytes;
    this.#free.splice(index + 1, 1);
  }
}

function roundUp(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / ARENA_ALIGNMENT)) * ARENA_ALIGNMENT;
}
