// Memory of an engine: registered for peers and for the plugin, allocated, let go when nobody uses
// it.

import { throwIfAborted } from '../base/abort.js';
import { sleepMs, systemClock } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import {
  checkMemory,
  isDeviceRange,
  type Region,
  type RegionRegistry,
  type RegionRights,
  type RegionSource,
  type RegionTerms,
} from '../memory/region.js';
import { allocateRegionMemory, type PageKind, type RegionMemory } from '../os/region-memory.js';
import type { TcpxProvider } from '../provider/tcpx/tcpx-provider.js';
import type { EngineOptions } from './engine-options.js';
import type { GpuUse } from './gpu-use.js';

interface DeregisterWait {
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

export class EngineMemory {
  readonly #regions: RegionRegistry;
  readonly #gpus: GpuUse;
  readonly #tcpx: TcpxProvider | undefined;
  readonly #shareOf: EngineOptions['shareOf'];

  constructor(
    regions: RegionRegistry,
    gpus: GpuUse,
    tcpx: TcpxProvider | undefined,
    shareOf: EngineOptions['shareOf'],
  ) {
    this.#regions = regions;
    this.#gpus = gpus;
    this.#tcpx = tcpx;
    this.#shareOf = shareOf;
  }

  register(source: RegionSource, rights: RegionRights, terms: RegionTerms): Region {
    checkMemory(source);
    if (isDeviceRange(source)) this.#gpus.admit(source);
    const shared = this.#tcpx?.regions;
    const share = shared && (this.#shareOf ?? ((one) => shared.shareOf(one)))(source);
    try {
      const region = this.#regions.register(source, rights, terms, share !== undefined);
      if (share !== undefined) shared?.add(region, share);
      return region;
    } catch (error) {
      share?.close();
      throw error;
    }
  }

  allocate(bytes: number, pages: PageKind): RegionMemory {
    // A plugin process cannot map huge pages of ours; who insists on them goes over tcp.
    if (this.#tcpx === undefined || pages === 'huge') return allocateRegionMemory(bytes, pages);
    const { buffer, addr } = this.#tcpx.allocations.allocate(bytes);
    return { buffer, addr, pages: 'normal' };
  }

  /** `poll` is called while accesses are in progress. */
  async deregister(region: Region, wait: DeregisterWait, poll: () => void): Promise<void> {
    this.#regions.beginClose(region);
    const endUs = systemClock.nowUs() + wait.waitMs * 1000;
    while (this.#regions.users(region) > 0) {
      try {
        this.#assertWaiting(region, endUs, wait.signal);
      } catch (error) {
        this.#regions.cancelClose(region);
        throw error;
      }
      await sleepMs(1);
      poll();
    }
    // Processes are told at once, in order: the number may be used again right away. And the table
    // is gone when they have answered, where the engine is closed meanwhile.
    const removed = this.#tcpx?.regions.remove(region);
    this.#regions.finishClose(region);
    await removed;
  }
  #assertWaiting(region: Region, endUs: number, signal: AbortSignal | undefined): void {
    const what = `deregister region ${region.id}`;
    throwIfAborted(signal, what);
    if (systemClock.nowUs() < endUs) return;
    const users = this.#regions.users(region);
    throw new TcpxError('ERR_USAGE_REGION_BUSY', `${what}: ${users} accesses in progress`);
  }
}
