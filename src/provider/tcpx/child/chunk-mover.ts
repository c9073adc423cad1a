// Who copies the bytes of chunks in a plugin host: the processor, or the GPU (gpu-mover.ts). A copy
// is started and becomes done later; the loop asks, and never waits. The processor is done at once.

import type { Address, ByteCount } from '../../../base/quantity.js';
import { copyMemory, type Mapping, mapMemory, unmapMemory } from '../../../ffi/libc/mapping.js';
import type { UnpackCall } from '../../../ffi/unpack-library.js';
import { ENTRY_PARTS, NOT_PACKED } from '../../../gpu/scatter-entry.js';
import type { HostOptions } from '../host-message.js';
import type { HostRegion } from '../host-region.js';
import type { ChunkFacts } from './guarded-plugin.js';
import type { UnpackSlot } from './unpack-queue.js';

/** In place of a copy's number: there is nothing to wait for. Beyond every 32-bit number. */
export const DONE_AT_ONCE = -(2 ** 40);

export type UnpackKind = HostOptions['unpack'];

/** Copies of one mover become done in the order of their start. */
export interface ChunkMover {
  /** The copy's number, for isDone. */
  copy(targetAddr: Address, sourceAddr: Address, bytes: ByteCount): number;
  /** Where a list of the slot that is unpacked here next is packed while it is checked. */
  packedOf(slot: UnpackSlot): Uint32Array;
  /** Gathers the fragments of a checked list into the chunk's place in its region. */
  unpack(
    slot: UnpackSlot,
    count: number,
    longestBytes: number,
    region: HostRegion,
    chunk: ChunkFacts,
  ): number;
  /** What was asked for since the last flush is under way after it. */
  flush(): void;
  /** Throws when the device has failed. */
  isDone(copy: number): boolean;
  /** Waits until nothing is under way any more; throws when only the end of the process does it. */
  finish(): void;
}

export class CpuMover implements ChunkMover {
  readonly #kind: UnpackKind;
  readonly #chunkBytes: number;
  readonly #unpackNative: UnpackCall | undefined;
  #staging: Mapping | undefined;

  /** Without `unpackNative` the fragments are copied one by one. */
  constructor(kind: UnpackKind, chunkBytes: number, unpackNative: UnpackCall | undefined) {
    this.#kind = kind;
    this.#chunkBytes = chunkBytes;
    this.#unpackNative = kind === 'kernel' ? unpackNative : undefined;
  }

  copy(targetAddr: Address, sourceAddr: Address, bytes: ByteCount): number {
    copyMemory(targetAddr, sourceAddr, bytes);
    return DONE_AT_ONCE;
  }

  packedOf(): Uint32Array {
    return NOT_PACKED;
  }

  unpack(
    slot: UnpackSlot,
    count: number,
    _longestBytes: number,
    region: HostRegion,
    chunk: ChunkFacts,
  ): number {
    if (this.#kind === 'none') return DONE_AT_ONCE;
    const { entries, entriesAddr, bounceAddr } = slot;
    const targetAddr = region.addr + chunk.offset;
    if (this.#unpackNative !== undefined) {
      // The processor unpacks where there is no GPU: all addresses are its own.
      this.#unpackNative(entriesAddr, count, bounceAddr, targetAddr);
      return DONE_AT_ONCE;
    }
    const to = this.#kind === 'host' ? this.#stagingAddr() : targetAddr;
    for (let at = 0; at < count * ENTRY_PARTS; at += ENTRY_PARTS) {
      // The offset in the message lies below the message's length: the high word is 0.
      const offset = entries[at + 2] ?? 0;
      copyMemory(to + offset, bounceAddr + (entries[at] ?? 0), entries[at + 1] ?? 0);
    }
    if (this.#kind === 'host') copyMemory(targetAddr, to, chunk.bytes);
    return DONE_AT_ONCE;
  }

  flush(): void {
    // Nothing is kept back.
  }

  isDone(): boolean {
    return true;
  }

  finish(): void {
    if (this.#staging !== undefined) unmapMemory(this.#staging);
    this.#staging = undefined;
  }

  #stagingAddr(): number {
    this.#staging ??= mapMemory(this.#chunkBytes);
    return this.#staging.addr;
  }
}
