// Gathered chunks in memory: pieces into one message at the sender, a message, or the fragments in
// which it arrived, into pieces at the receiver. Lists and places have been checked before.

import { assert } from '../../base/assert.js';
import { copyMemory } from '../../ffi/libc/mapping.js';
import { ENTRY_PARTS } from '../../memory/scatter-entry.js';
import type { PieceQueue } from './piece-queue.js';

/** Where regions lie in this process. */
export type RegionAddress = (region: number) => number;

export class PieceCopier {
  readonly #pieces: PieceQueue;
  readonly #addressOf: RegionAddress;

  constructor(pieces: PieceQueue, addressOf: RegionAddress) {
    this.#pieces = pieces;
    this.#addressOf = addressOf;
  }

  /** Pieces one behind the other from `targetAddr` on. */
  gather(first: number, count: number, targetAddr: number): void {
    let at = targetAddr;
    for (let position = first; position < first + count; position++) {
      const bytes = this.#pieces.bytes(position);
      copyMemory(at, this.#address(position), bytes);
      at += bytes;
    }
  }

  /** A whole message at `sourceAddr`, to its pieces. */
  scatter(first: number, count: number, sourceAddr: number): void {
    let at = sourceAddr;
    for (let position = first; position < first + count; position++) {
      const bytes = this.#pieces.bytes(position);
      copyMemory(this.#address(position), at, bytes);
      at += bytes;
    }
  }

  /** The fragments of a message, straight to its pieces; a fragment may touch several. */
  scatterFragments(
    first: number,
    count: number,
    entries: Uint32Array,
    fragmentCount: number,
    bounceAddr: number,
  ): void {
    let position = first;
    let begin = 0;
    for (let at = 0; at < fragmentCount * ENTRY_PARTS; at += ENTRY_PARTS) {
      let source = bounceAddr + (entries[at] ?? 0);
      let offset = entries[at + 2] ?? 0;
      const end = offset + (entries[at + 1] ?? 0);
      // Fragments come in order but for those of several sockets: then the search begins anew.
      if (offset < begin) {
        position = first;
        begin = 0;
      }
      while (offset < end) {
        assert(position < first + count, 'fragments lie in the message');
        const pieceEnd = begin + this.#pieces.bytes(position);
        if (offset >= pieceEnd) {
          begin = pieceEnd;
          position++;
          continue;
        }
        const bytes = Math.min(end, pieceEnd) - offset;
        copyMemory(this.#address(position) + (offset - begin), source, bytes);
        source += bytes;
        offset += bytes;
      }
    }
  }

  #address(position: number): number {
    return this.#addressOf(this.#pieces.region(position)) + this.#pieces.offset(position);
  }
}
