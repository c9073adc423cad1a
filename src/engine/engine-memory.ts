// Memory of an engine: registered for peers and for the plugin, allocated, let go when nobody uses
// it.

import { checkRecord } from '../base/argument.js';
import { sleepMs, systemClock } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import {
  isDeviceRange,
  type Region,
  type RegionRegistry,
  type RegionRights,
  type RegionSource,
  type RegionTerms,
} from '../memory/region.js';
import { allocateRegionMemory, type PageKind, type RegionMemory } from '../os/region-memory.js';
import type { TcpxProvider } from '../provider/tcpx/tcpx-provider.js';
import type { GpuUse } from './gpu-use.js';

export class EngineMemory {
  readonly #regions: RegionRegistry;
  readonly #gpus: GpuUse;
  readonly #tcpx: TcpxProvider | undefined;

  constructor(regions: RegionRegistry, gpus: GpuUse, tcpx: TcpxProvider | undefined) {
    this.#regions = regions;
    this.#gpus = gpus;
    this.#tcpx = tcpx;
  }

  register(source: RegionSource, rights: RegionRights, terms: RegionTerms): Region {
    checkRecord('register: the memory', source);
    if (isDeviceRange(source)) this.#gpus.admit(source);
    const shared = this.#tcpx?.regions;
    const share = shared?.shareOf(source);
    const region = this.#regions.register(source, rights, terms, share !== undefined);
    if (share !== undefined) shared?.add(region, share);
    return region;
  }

  allocate(bytes: number, pages: PageKind): RegionMemory {
    // A plugin process cannot map huge pages of ours; who insists on them goes over tcp.
    if (this.#tcpx === undefined || pages === 'huge') return allocateRegionMemory(bytes, pages);
    const { buffer, addr } = this.#tcpx.allocations.allocate(bytes);
    return { buffer, addr, pages: 'normal' };
  }

  /** `poll` is called while accesses are in progress. */
  async deregister(region: Region, waitMs: number, poll: () => void): Promise<void> {
    this.#regions.beginClose(region);
    const endUs = systemClock.nowUs() + waitMs * 1000;
    while (this.#regions.users(region) > 0) {
      if (systemClock.nowUs() >= endUs) {
        this.#regions.cancelClose(region);
        throw new TcpxError(
          'ERR_USAGE_REGION_BUSY',
          `deregister region ${region.id}: ${this.#regions.users(region)} accesses in progress`,
        );
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
}
