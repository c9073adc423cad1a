// What this agent registered: for each backend and memory type the ranges, the backend's objects,
// and the keys that metadata gives to peers.

import { throwIfAborted, withSignal } from '../base/abort.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { noBackendFor, type OpenBackend } from './backend-set.js';
import {
  type BasicDesc,
  type BlobDesc,
  checkRegionDesc,
  formatDesc,
  type RegDlist,
} from './descriptors.js';
import { checkMovable, type MemType } from './memory-type.js';
import type { SectionEntry } from './metadata.js';
import { RangeIndex } from './range-index.js';
import { type BackendRegion, SharedRegions } from './shared-regions.js';
import { checkDlist } from './xfer-dlist.js';

/** One registration; others of the same range share its region. */
export interface LocalRegion extends BasicDesc {
  readonly region: BackendRegion;
  /** The caller's, which may keep the memory alive. */
  readonly desc: BlobDesc;
}

const EMPTY = new RangeIndex<LocalRegion>();

export class LocalSections {
  readonly #sections = new Map<OpenBackend, Map<MemType, RangeIndex<LocalRegion>>>();
  readonly #shared = new Map<OpenBackend, SharedRegions>();
  #hasLoopback = false;
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Whether memory was ever registered that the agent can reach by its own name. */
  get hasLoopback(): boolean {
    return this.#hasLoopback;
  }

  index(handle: OpenBackend, memType: MemType): RangeIndex<LocalRegion> {
    return this.#sections.get(handle)?.get(memType) ?? EMPTY;
  }

  /**
   * Tries every backend that takes the memory; one success is enough. Each is all or nothing.
   * `isChosen`: the caller has named them.
   */
  async register(
    list: RegDlist,
    backends: readonly OpenBackend[],
    isChosen = false,
    signal?: AbortSignal,
  ): Promise<void> {
    throwIfAborted(signal, 'registerMem');
    const done = this.#register(list, backends, isChosen);
    try {
      await withSignal(done, signal, 'registerMem');
    } catch (error) {
      if (signal?.aborted === true) this.#undo(done, list, backends);
      throw error;
    }
  }

  // Nobody waits for it any more, so nobody would give it back.
  #undo(done: Promise<void>, list: RegDlist, backends: readonly OpenBackend[]): void {
    void done.then(() => this.deregister(list, backends)).catch(() => undefined);
  }

  async #register(
    list: RegDlist,
    backends: readonly OpenBackend[],
    isChosen: boolean,
  ): Promise<void> {
    checkList(list, 'registerMem');
    const takers = backends.filter((handle) => handle.memTypes.includes(list.memType));
    if (takers.length === 0) throw noBackendFor(list.memType, backends, isChosen);
    if (list.descs.length === 0) {
      throw new TcpxError('ERR_CAP_BACKEND', 'registerMem: no backend takes an empty list');
    }
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
  async deregister(
    list: RegDlist,
    backends: readonly OpenBackend[],
    signal?: AbortSignal,
  ): Promise<void> {
    throwIfAborted(signal, 'deregisterMem');
    await withSignal(this.#deregister(list, backends), signal, 'deregisterMem');
  }

  async #deregister(list: RegDlist, backends: readonly OpenBackend[]): Promise<void> {
    checkList(list, 'deregisterMem');
    const holders = backends.filter((handle) => this.index(handle, list.memType).size > 0);
    let failure: TcpxError | undefined;
    if (holders.length === 0) failure = notRegistered(list, 'deregisterMem');
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
  describe(backends: readonly OpenBackend[], list?: RegDlist): SectionEntry[] {
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
        for (const entry of index.entries()) await this.#drop(handle, entry);
      }
    }
    this.#sections.clear();
  }

  #describeList(backends: readonly OpenBackend[], list: RegDlist): SectionEntry[] {
    checkMovable(list.memType, 'getLocalPartialMD');
    const sections: SectionEntry[] = [];
    for (const handle of backends) {
      const index = this.index(handle, list.memType);
      const found = list.descs.map((desc) => index.findExact(desc)[0]);
      if (!found.every((entry) => entry !== undefined)) continue;
      sections.push({ type: handle.type, memType: list.memType, descs: found.map(publicDesc) });
    }
    if (sections.length === 0) throw notRegistered(list, 'getLocalPartialMD');
    return sections;
  }

  async #registerWith(handle: OpenBackend, list: RegDlist): Promise<void> {
    const done: LocalRegion[] = [];
    const shared = this.#sharedOf(handle);
    try {
      for (const desc of list.descs) {
        const { addr, len, devId } = desc;
        const region = await shared.acquire(desc, list.memType);
        done.push({ addr, len, devId, region, desc });
      }
    } catch (error) {
      for (const entry of done.toReversed()) await this.#drop(handle, entry);
      throw error;
    }
    this.#indexFor(handle, list.memType).addAll(done);
    this.#hasLoopback ||= handle.backend.supportsLocal;
  }

  async #deregisterWith(handle: OpenBackend, list: RegDlist): Promise<void> {
    const index = this.index(handle, list.memType);
    const entries = takeExact(index, list.descs);
    if (entries === undefined) throw notRegistered(list, 'deregisterMem');
    // At once, before the backend takes its time: nobody else may give the same one back.
    for (const entry of entries) index.remove(entry);
    let failure: unknown;
    for (const entry of entries) {
      try {
        await this.#sharedOf(handle).release(entry.region);
      } catch (error) {
        index.add(entry);
        failure = error;
      }
    }
    if (failure !== undefined) throw toTcpxError(failure, 'ERR_CAP_BACKEND', 'deregisterMem');
  }

  async #drop(handle: OpenBackend, entry: LocalRegion): Promise<void> {
    try {
      await this.#sharedOf(handle).release(entry.region);
    } catch (error) {
      this.#log.warn('deregister failed', { backend: handle.type, reason: String(error) });
    }
  }

  #sharedOf(handle: OpenBackend): SharedRegions {
    const shared = this.#shared.get(handle) ?? new SharedRegions(handle);
    this.#shared.set(handle, shared);
    return shared;
  }

  #indexFor(handle: OpenBackend, memType: MemType): RangeIndex<LocalRegion> {
    const byMemType = this.#sections.get(handle) ?? new Map<MemType, RangeIndex<LocalRegion>>();
    this.#sections.set(handle, byMemType);
    const index = byMemType.get(memType) ?? new RangeIndex<LocalRegion>();
    byMemType.set(memType, index);
    return index;
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

function publicDesc({ addr, len, devId, region }: LocalRegion): BlobDesc {
  return { addr, len, devId, metaInfo: region.publicData };
}

function checkList(list: RegDlist, attempted: string): void {
  checkDlist(attempted, list);
  checkMovable(list.memType, attempted);
  for (const desc of list.descs) checkRegionDesc(list.memType, desc, attempted);
}

function notRegistered(list: RegDlist, attempted: string): TcpxError {
  const [desc] = list.descs;
  const example = desc === undefined ? 'the list' : formatDesc(list.memType, desc);
  return new TcpxError(
    'ERR_USAGE_NOT_FOUND',
    `${attempted}: not every range of the list is registered exactly so (first: ${example})`,
  );
}
