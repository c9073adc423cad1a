// What this agent registered: for each backend and memory type the ranges, the backend's objects,
// and the keys that metadata gives to peers.

import { TcpxError, toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { RegionMd, TargetMd } from './backend.js';
import { type BackendHandle, noBackendFor } from './backend-set.js';
import {
  type BasicDesc,
  type BlobDesc,
  checkDesc,
  formatDesc,
  type RegDlist,
} from './descriptors.js';
import { checkMovable, type MemType } from './memory-type.js';
import type { SectionEntry } from './metadata.js';
import { RangeIndex } from './range-index.js';

export interface LocalRegion extends BasicDesc {
  readonly md: RegionMd;
  readonly publicData: Uint8Array;
  /** The object for transfers within the agent, where the backend offers those. */
  readonly target: TargetMd | undefined;
}

const EMPTY = new RangeIndex<LocalRegion>();

export class LocalSections {
  readonly #sections = new Map<BackendHandle, Map<MemType, RangeIndex<LocalRegion>>>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  index(handle: BackendHandle, memType: MemType): RangeIndex<LocalRegion> {
    return this.#sections.get(handle)?.get(memType) ?? EMPTY;
  }

  /** Tries every backend that takes the memory; one success is enough. Each is all or nothing. */
  async register(list: RegDlist, backends: readonly BackendHandle[]): Promise<void> {
    checkList(list, 'registerMem');
    const takers = backends.filter((handle) => handle.memTypes.includes(list.memType));
    if (takers.length === 0) throw noBackendFor(list.memType, 'registerMem');
    let failure: TcpxError | undefined;
    let acceptedCount = 0;
    for (const handle of takers) {
      try {
        await this.#registerWith(handle, list);
        acceptedCount++;
      } catch (error) {
        failure = toTcpxError(error, 'ERR_CAP_BACKEND', `registerMem with ${handle.type}`);
        this.#log.debug('registerMem refused', { backend: handle.type, reason: failure.message });
      }
    }
    if (acceptedCount === 0 && failure !== undefined) throw failure;
  }

  /** Each range must equal a registered one; a backend that misses one keeps all of them. */
  async deregister(list: RegDlist, backends: readonly BackendHandle[]): Promise<void> {
    checkList(list, 'deregisterMem');
    const holders = backends.filter((handle) => this.index(handle, list.memType).size > 0);
    let failure: TcpxError | undefined;
    if (holders.length === 0) failure = notRegistered(list, list.descs[0], 'deregisterMem');
    for (const handle of holders) {
      try {
        await this.#deregisterWith(handle, list);
      } catch (error) {
        failure = toTcpxError(error, 'ERR_CAP_BACKEND', `deregisterMem with ${handle.type}`);
      }
    }
    if (failure !== undefined) throw failure;
  }

  /** Sections for metadata: everything, or only what `list` names. */
  describe(backends: readonly BackendHandle[], list?: RegDlist): SectionEntry[] {
    if (list !== undefined) return this.#describeList(backends, list);
    const sections: SectionEntry[] = [];
    for (const handle of backends) {
      for (const [memType, index] of this.#sections.get(handle) ?? []) {
        if (index.size === 0) continue;
        sections.push({ type: handle.type, memType, descs: index.entries().map(publicDesc) });
      }
    }
    return sections;
  }

  /** Gives everything back, whatever the backends say. */
  async clear(): Promise<void> {
    for (const [handle, byMemType] of this.#sections) {
      for (const index of byMemType.values()) {
        for (const region of index.entries()) await this.#drop(handle, region);
      }
    }
    this.#sections.clear();
  }

  #describeList(backends: readonly BackendHandle[], list: RegDlist): SectionEntry[] {
    const sections: SectionEntry[] = [];
    for (const handle of backends) {
      const index = this.index(handle, list.memType);
      const regions = takeExact(index, list.descs);
      if (regions === undefined) continue;
      const descs = regions.map(publicDesc);
      sections.push({ type: handle.type, memType: list.memType, descs });
    }
    if (sections.length === 0) throw notRegistered(list, list.descs[0], 'getLocalPartialMD');
    return sections;
  }

  async #registerWith(handle: BackendHandle, list: RegDlist): Promise<void> {
    const done: LocalRegion[] = [];
    try {
      for (const desc of list.descs) done.push(await registerOne(handle, desc, list.memType));
    } catch (error) {
      for (const region of done.toReversed()) await this.#drop(handle, region);
      throw error;
    }
    this.#indexFor(handle, list.memType).addAll(done);
  }

  async #deregisterWith(handle: BackendHandle, list: RegDlist): Promise<void> {
    const index = this.index(handle, list.memType);
    const regions = takeExact(index, list.descs);
    if (regions === undefined) throw notRegistered(list, list.descs[0], 'deregisterMem');
    let failure: unknown;
    for (const region of regions) {
      try {
        await handle.backend.deregisterMem(region.md);
        index.remove(region);
        if (region.target !== undefined) handle.backend.unloadMD(region.target);
      } catch (error) {
        failure = error;
      }
    }
    if (failure !== undefined) throw toTcpxError(failure, 'ERR_CAP_BACKEND', 'deregisterMem');
  }

  async #drop(handle: BackendHandle, region: LocalRegion): Promise<void> {
    try {
      await handle.backend.deregisterMem(region.md);
      if (region.target !== undefined) handle.backend.unloadMD(region.target);
    } catch (error) {
      this.#log.warn('deregister failed', { backend: handle.type, reason: String(error) });
    }
  }

  #indexFor(handle: BackendHandle, memType: MemType): RangeIndex<LocalRegion> {
    const byMemType = this.#sections.get(handle) ?? new Map<MemType, RangeIndex<LocalRegion>>();
    this.#sections.set(handle, byMemType);
    const index = byMemType.get(memType) ?? new RangeIndex<LocalRegion>();
    byMemType.set(memType, index);
    return index;
  }
}

async function registerOne(handle: BackendHandle, desc: BlobDesc, memType: MemType) {
  const { backend } = handle;
  const md = await backend.registerMem(desc, memType);
  const { addr, len, devId } = desc;
  try {
    const publicData = Uint8Array.from(backend.getPublicData?.(md) ?? []);
    const target = backend.supportsLocal ? backend.loadLocalMD?.(md) : undefined;
    return { addr, len, devId, md, publicData, target };
  } catch (error) {
    await backend.deregisterMem(md);
    throw error;
  }
}

/** One registered region for each wanted range, none taken twice; undefined if one is missing. */
function takeExact(index: RangeIndex<LocalRegion>, wanted: readonly BasicDesc[]) {
  const taken = new Set<LocalRegion>();
  for (const desc of wanted) {
    const region = index.findExact(desc).find((candidate) => !taken.has(candidate));
    if (region === undefined) return undefined;
    taken.add(region);
  }
  return [...taken];
}

function publicDesc(region: LocalRegion): BlobDesc {
  const { addr, len, devId, publicData } = region;
  return { addr, len, devId, metaInfo: publicData };
}

function checkList(list: RegDlist, attempted: string): void {
  checkMovable(list.memType, attempted);
  if (list.descs.length === 0) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${attempted}: the list is empty`);
  }
  for (const desc of list.descs) checkDesc(list.memType, desc, attempted);
}

function notRegistered(list: RegDlist, desc: BasicDesc | undefined, attempted: string): TcpxError {
  const example = desc === undefined ? 'the list' : formatDesc(list.memType, desc);
  return new TcpxError(
    'ERR_USAGE_NOT_FOUND',
    `${attempted}: not every range of the list is registered exactly so (first: ${example})`,
  );
}
