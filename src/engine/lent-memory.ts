// Plain memory of a program in the place of a region: registered for one request, without any right
// for peers, and given back with it.

import { types } from 'node:util';
import { isTcpxError, TcpxError } from '../base/errors.js';
import {
  type Region,
  type RegionRegistry,
  type RegionSlice,
  sliceRegion,
} from '../memory/region.js';

/** Memory as JavaScript has it: a Buffer, a typed array, a DataView, or a buffer as a whole. */
export type PlainMemory = ArrayBufferView | ArrayBuffer | SharedArrayBuffer;

const NO_RIGHTS = { read: false, write: false };

export class LentMemory {
  readonly #regions: RegionRegistry;
  /** By what lies below the views: those of one buffer are one region. */
  readonly #byBuffer = new Map<ArrayBufferLike, Region>();

  constructor(regions: RegionRegistry) {
    this.#regions = regions;
  }

  /** `what` names it in errors. */
  lend(memory: PlainMemory, what: string): RegionSlice<Region> {
    const isView = ArrayBuffer.isView(memory);
    if (memory.byteLength === 0) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', `${what}: memory has at least 1 byte, not 0`);
    }
    const region = this.#regionOf(isView ? memory.buffer : memory, what);
    const from = isView ? memory.byteOffset : 0;
    return sliceRegion(region, from, from + memory.byteLength);
  }

  #regionOf(buffer: ArrayBufferLike, what: string): Region {
    const known = this.#byBuffer.get(buffer);
    if (known !== undefined) return known;
    try {
      const region = this.#regions.register(buffer, NO_RIGHTS);
      this.#byBuffer.set(buffer, region);
      return region;
    } catch (error) {
      if (!isTcpxError(error)) throw error;
      throw new TcpxError(error.code, `${what}: ${error.message}`, { cause: error });
    }
  }

  /** Nothing is in flight from or to it any more. */
  giveBack(): void {
    for (const region of this.#byBuffer.values()) this.#regions.finishClose(region);
    this.#byBuffer.clear();
  }
}

export function isPlainMemory(memory: unknown): memory is PlainMemory {
  return ArrayBuffer.isView(memory) || types.isAnyArrayBuffer(memory);
}
