// Gathered chunks in memory: pieces into one message at the sender, a message, or the fragments in
// which it arrived, into pieces at the receiver. Lists and places have been checked before. Each
// copy is the mover's; the number of the last one stands for all.

import { assert } from '../../../base/assert.js';
import type { Address } from '../../../base/quantity.js';
import { ENTRY_PARTS } from '../../../gpu/scatter-entry.js';
import type { HostRegion } from '../host-region.js';
import { type ChunkMover, DONE_AT_ONCE } from './chunk-mover.js';
import type { PieceQueue } from './piece-queue.js';

/** Where a region lies, as the mover reaches it. */
export type RegionAddress = (region: number) => number;

export class PieceCopier {
  readonly #pieces: PieceQueue;
  readonly #mover: Pick<ChunkMover, 'copy'>;
  readonly #addressOf: RegionAddress;

  constructor(pieces: PieceQueue, mover: Pick<ChunkMover, 'copy'>, addressOf: RegionAddress) {
    this.#pieces = pieces;
    this.#mover = mover;
    this.#addressOf = addressOf;
  }

  /** Pieces one behind the other from `targetAddr` on. */
  gather(first: number, count: number, targetAddr: Address): number {
    let at = targetAddr;
    let copy = DONE_AT_ONCE;
    for (let position = first; position < first + count; position++) {
      const bytes = this.#pieces.bytes(position);
      copy = this.#mover.copy(at, this.#address(position), bytes);
      at += bytes;
    }
    return copy;
  }

  /** A whole message at `sourceAddr`, to its pieces. */
  scatter(first: number, count: number, sourceAddr: Address): number {
    let at = sourceAddr;
    let copy = DONE_AT_ONCE;
    for (let position = first; position < first + count; position++) {
      const bytes = this.#pieces.bytes(position);
      copy = this.#mover.copy(this.#address(position), at, bytes);
      at += bytes;
    }
    return copy;
  }

  /** The fragments of a message, straight to its pieces; a fragment may touch several. */
  scatterFragments(
    first: number,
    count: number,
    entries: Uint32Array,
    fragmentCount: number,
    bounceAddr: Address,
  ): number {
    let position = first;
    let begin = 0;
    let copy = DONE_AT_ONCE;
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
        copy = this.#mover.copy(this.#address(position) + (offset - begin), source, bytes);
        source += bytes;
        offset += bytes;
      }
    }
    return copy;
  }

  #address(position: number): number {
    return this.#addressOf(this.#pieces.region(position)) + this.#pieces.offset(position);
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
    cpu: ChunkMover,
    gpu: ChunkMover | undefined,
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
  hasDevice(first: number, count: number): boolean {
    if (this.#gpu === undefined) return false;
    for (let position = first; position < first + count; position++) {
      if (this.#regions.region(this.#pieces.region(position)).isDevice) return true;
    }
    return false;
  }
}
