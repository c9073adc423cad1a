// Gathered chunks in memory: pieces into one message at the sender, a message, or the fragments in
// which it arrived, into pieces at the receiver. Lists and places have been checked before. How
// bytes move, and when they have, is the mover's.

import { assert, wordAt } from '../../../base/assert.js';
import type { Address } from '../../../base/quantity.js';
import { ENTRY_PARTS } from '../../../gpu/scatter-entry.js';
import type { HostRegion } from '../host-region.js';
import type { PieceMover } from './piece-mover.js';
import type { PieceQueue } from './piece-queue.js';

/** Where a region lies, as the mover reaches it. */
export type RegionAddress = (region: number) => number;

/** The pieces of a chunk: so many of the queue, from the first on. */
export interface PieceRange {
  readonly first: number;
  readonly count: number;
}

export class PieceCopier {
  readonly #pieces: PieceQueue;
  readonly #mover: PieceMover;
  readonly #addressOf: RegionAddress;

  constructor(pieces: PieceQueue, mover: PieceMover, addressOf: RegionAddress) {
    this.#pieces = pieces;
    this.#mover = mover;
    this.#addressOf = addressOf;
  }

  /** A message whose pieces lie one behind the other from `messageAddr` on, there or from there. */
  whole(position: number, { first, count }: PieceRange, messageAddr: Address): number {
    this.#mover.begin(position, messageAddr);
    let offset = 0;
    for (let piece = first; piece < first + count; piece++) {
      const bytes = this.#pieces.bytes(piece);
      if (bytes > 0) this.#mover.add(this.#address(piece), offset, bytes);
      offset += bytes;
    }
    return this.#mover.end();
  }

  /** The fragments of a message, straight to its pieces; a fragment may touch several. */
  fragments(
    position: number,
    { first, count }: PieceRange,
    entries: Uint32Array,
    fragmentCount: number,
    bounceAddr: Address,
  ): number {
    this.#mover.begin(position, bounceAddr);
    let piece = first;
    let begin = 0;
    for (let at = 0; at < fragmentCount * ENTRY_PARTS; at += ENTRY_PARTS) {
      let source = wordAt(entries, at);
      let offset = wordAt(entries, at + 2);
      const end = offset + wordAt(entries, at + 1);
      // Fragments come in order but for those of several sockets: then the search begins anew.
      if (offset < begin) {
        piece = first;
        begin = 0;
      }
      while (offset < end) {
        assert(piece < first + count, 'fragments lie in the message');
        const pieceEnd = begin + this.#pieces.bytes(piece);
        if (offset >= pieceEnd) {
          begin = pieceEnd;
          piece++;
          continue;
        }
        const bytes = Math.min(end, pieceEnd) - offset;
        this.#mover.add(this.#address(piece) + (offset - begin), source, bytes);
        source += bytes;
        offset += bytes;
      }
    }
    return this.#mover.end();
  }

  #address(piece: number): number {
    return this.#addressOf(this.#pieces.region(piece)) + this.#pieces.offset(piece);
  }
}

/** The processor and, where there is one, the GPU, for the pieces of one queue. */
export class PieceCopiers {
  readonly #pieces: PieceQueue;
  readonly #regions: { region(id: number): HostRegion };
  readonly #cpu: PieceCopier;
  readonly #gpu: PieceCopier | undefined;

  constructor(
    pieces: PieceQueue,
    regions: { region(id: number): HostRegion },
    cpu: PieceMover,
    gpu: PieceMover | undefined,
  ) {
    this.#pieces = pieces;
    this.#regions = regions;
    this.#cpu = new PieceCopier(pieces, cpu, (id) => regions.region(id).addr);
    this.#gpu = gpu && new PieceCopier(pieces, gpu, (id) => regions.region(id).deviceAddr);
  }

  by(isDevice: boolean): PieceCopier {
    if (!isDevice) return this.#cpu;
    assert(this.#gpu !== undefined, 'GPU memory is mapped by hosts with a GPU');
    return this.#gpu;
  }

  /** Whether the processor cannot reach one of them. */
  hasDevice({ first, count }: PieceRange): boolean {
    if (this.#gpu === undefined) return false;
    for (let piece = first; piece < first + count; piece++) {
      if (this.#regions.region(this.#pieces.region(piece)).isDevice) return true;
    }
    return false;
  }
}
