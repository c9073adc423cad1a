// Ranges as one backend holds them. The same range registered again is the same region with the
// same key, because who loads metadata refuses two keys for one range; the region goes back to the
// backend with its last holder.

import { assert } from '../base/assert.js';
import type { RegionMd, TargetMd } from './backend.js';
import type { OpenBackend } from './backend-set.js';
import type { BlobDesc } from './descriptors.js';
import type { MemType } from './memory-type.js';

/** What the backend made of a range. */
export interface BackendRegion {
  readonly md: RegionMd;
  readonly publicData: Uint8Array;
  /** The object for transfers within the agent, where the backend offers those. */
  readonly target: TargetMd | undefined;
}

interface Holding extends BackendRegion {
  readonly name: string;
  holderCount: number;
}

export class SharedRegions {
  readonly #handle: OpenBackend;
  readonly #holdings = new Map<string, Holding>();
  /** The last call about a range: backends may take their time, and none may overtake another. */
  readonly #turns = new Map<string, Promise<unknown>>();

  constructor(handle: OpenBackend) {
    this.#handle = handle;
  }

  acquire(desc: BlobDesc, memType: MemType): Promise<BackendRegion> {
    const name = `${memType} ${desc.devId} ${desc.addr} ${desc.len}`;
    return this.#inTurn(name, async () => {
      const known = this.#holdings.get(name);
      if (known !== undefined) {
        known.holderCount++;
        return known;
      }
      const region = await registerWith(this.#handle, desc, memType);
      const holding: Holding = { ...region, name, holderCount: 1 };
      this.#holdings.set(name, holding);
      return holding;
    });
  }

  /** Where the backend refuses, the holder keeps the region. */
  release(region: BackendRegion): Promise<void> {
    const holding = region as Holding;
    const { name } = holding;
    return this.#inTurn(name, async () => {
      assert(this.#holdings.get(name) === holding, `${name} is held`);
      if (holding.holderCount === 1) {
        const { backend } = this.#handle;
        await backend.deregisterMem(holding.md);
        this.#holdings.delete(name);
        if (holding.target !== undefined) backend.unloadMD(holding.target);
      }
      holding.holderCount--;
    });
  }

  async #inTurn<T>(name: string, body: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(name);
    const mine = (async () => {
      await before?.catch(() => undefined);
      return body();
    })();
    this.#turns.set(name, mine);
    try {
      return await mine;
    } finally {
      if (this.#turns.get(name) === mine) this.#turns.delete(name);
    }
  }
}

async function registerWith(
  { backend }: OpenBackend,
  desc: BlobDesc,
  memType: MemType,
): Promise<BackendRegion> {
  const md = await backend.registerMem(desc, memType);
  try {
    const publicData = Uint8Array.from(backend.getPublicData?.(md) ?? []);
    const target = backend.supportsLocal ? backend.loadLocalMD?.(md) : undefined;
    return { md, publicData, target };
  } catch (error) {
    await backend.deregisterMem(md);
    throw error;
  }
}
