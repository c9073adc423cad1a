// Registrations of regions with one comm, so that chunks can be sent from where they lie. A plugin
// may refuse one (a driver that exports no such memory, a limit): the region is then sent from the
// ring, which is said once for the channel.

import { isTcpxError } from '../../../base/errors.js';
import type { ChannelSlot, CommHandle, MemoryHandle } from '../../../base/quantity.js';
import { POINTER_CUDA } from '../../../ffi/nccl-net/net-plugin.js';
import type { HostRegion } from '../host-region.js';
import type { GuardedPlugin } from './guarded-plugin.js';
import { PAGE_BYTES, roundToPage } from './ring-memory.js';

const REFUSED = 0;

export interface RegionHandlesParts {
  readonly plugin: GuardedPlugin;
  readonly channel: ChannelSlot;
  readonly comm: CommHandle;
  onRefused(reason: string): void;
}

export class RegionHandles {
  readonly #parts: RegionHandlesParts;
  /** By region; REFUSED where the plugin did not take it. */
  readonly #handles = new Map<number, number>();
  #isRefusalTold = false;

  constructor(parts: RegionHandlesParts) {
    this.#parts = parts;
  }

  /** Undefined where the plugin refuses the region. */
  handleOf(regionId: number, region: HostRegion, pointerType: number): number | undefined {
    const known = this.#handles.get(regionId);
    if (known !== undefined) return known === REFUSED ? undefined : known;
    const { addr, bytes } = registeredRange(region, pointerType);
    const { plugin, channel, comm } = this.#parts;
    try {
      const mhandle = plugin.register(channel, comm, addr, bytes, pointerType);
      this.#handles.set(regionId, mhandle);
      return mhandle;
    } catch (error) {
      if (!isTcpxError(error, 'ERR_NCCLNET_CALL')) throw error;
      this.#handles.set(regionId, REFUSED);
      if (!this.#isRefusalTold) this.#parts.onRefused(error.message);
      this.#isRefusalTold = true;
      return undefined;
    }
  }

  /** The region is about to be unmapped; its number may come back for another. */
  forget(regionId: number): void {
    const mhandle = this.#handles.get(regionId) ?? REFUSED;
    this.#handles.delete(regionId);
    if (mhandle !== REFUSED) this.#deregister(mhandle);
  }

  close(): void {
    for (const mhandle of this.#handles.values()) {
      if (mhandle !== REFUSED) this.#deregister(mhandle);
    }
    this.#handles.clear();
  }

  #deregister(mhandle: MemoryHandle): void {
    const { plugin, channel, comm } = this.#parts;
    plugin.deregister(channel, comm, mhandle);
  }
}

/** Device memory is registered in whole pages; of host memory a registration only takes note. */
export function registeredRange(
  { addr, bytes }: Pick<HostRegion, 'addr' | 'bytes'>,
  pointerType: number,
): { readonly addr: number; readonly bytes: number } {
  if (pointerType !== POINTER_CUDA) return { addr, bytes };
  const before = addr % PAGE_BYTES;
  return { addr: addr - before, bytes: roundToPage(bytes + before) };
}
