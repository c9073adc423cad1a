// Regions that plugin processes have mapped, or are about to: commands to a process are kept in
// order, so a chunk never overtakes the mapping of its region.

import { TcpxError, toTcpxError } from '../../base/errors.js';
import {
  type DeviceRange,
  isDeviceRange,
  memoryRange,
  type Region,
  type RegionSource,
} from '../../memory/region.js';
import type { BlockPlace } from './chunk-places.js';
import type { RegionWay } from './host-region.js';
import { type DeviceSharer, type RegionShare, shareHostMemory } from './region-share.js';
import type { SharedAllocations } from './shared-allocations.js';

/** What the plugin processes are told. */
export interface RegionMaps {
  /** `onMapped` is called once, when every process has answered. */
  addRegion(
    id: number,
    share: RegionShare,
    onMapped: (error: TcpxError | undefined) => void,
  ): Promise<void>;
  removeRegion(id: number): Promise<void>;
}

interface Entry {
  readonly region: Region;
  readonly share: RegionShare;
  failure: TcpxError | undefined;
  isMapped: boolean;
}

export class SharedRegions {
  readonly #maps: RegionMaps;
  readonly #devices: DeviceSharer;
  readonly #allocations: SharedAllocations;
  readonly #entries = new Map<number, Entry>();
  readonly #waiting: { readonly slots: readonly number[]; readonly act: () => void }[] = [];

  constructor(maps: RegionMaps, devices: DeviceSharer, allocations: SharedAllocations) {
    this.#maps = maps;
    this.#devices = devices;
    this.#allocations = allocations;
  }

  /** How plugin processes can reach this memory; undefined for host memory that they cannot. */
  shareOf(source: RegionSource): RegionShare | undefined {
    if (isDeviceRange(source)) return this.#devices.share(source satisfies DeviceRange);
    const { addr, bytes } = memoryRange(source);
    const part = this.#allocations.find(addr, bytes);
    return part === undefined ? undefined : shareHostMemory(part, bytes);
  }

  /** Begins to map it. A failure is told to whoever uses the region. */
  add(region: Region, share: RegionShare): void {
    const entry: Entry = { region, share, failure: undefined, isMapped: false };
    this.#entries.set(region.id, entry);
    const onMapped = (error: TcpxError | undefined): void => {
      if (entry.isMapped) return;
      entry.isMapped = true;
      entry.failure = error;
      this.#wake();
    };
    this.#maps.addRegion(region.id, share, onMapped).catch((error: unknown) => {
      onMapped(toTcpxError(error, 'ERR_NCCLNET_CALL', `map region ${region.id}`));
    });
  }

  /** Nobody uses it any more. */
  async remove(region: Region): Promise<void> {
    const entry = this.#entries.get(region.id);
    if (entry?.region !== region) return;
    this.#entries.delete(region.id);
    await this.#maps.removeRegion(region.id);
    entry.share.close();
  }

  closeAll(): void {
    for (const { share } of this.#entries.values()) share.close();
    this.#entries.clear();
  }

  /** Why the plugin cannot reach a region; empty where it can. */
  obstacleTo(region: Region): string {
    const entry = this.#entries.get(region.id);
    if (entry?.region !== region) return `region ${region.id} is host memory that is not shared`;
    return entry.failure === undefined ? '' : `region ${region.id}: ${entry.failure.message}`;
  }

  /** Throws where the plugin does not reach a region. */
  assertMapped(slots: readonly number[]): void {
    for (const slot of slots) {
      const entry = this.#entries.get(slot);
      if (entry === undefined) {
        throw new TcpxError('ERR_PEER_RIGHTS', `region ${slot}: the plugin does not reach it`);
      }
      if (entry.failure !== undefined) throw entry.failure;
    }
  }

  /**
   * Acts when every process has answered for these regions: at once where all have, else as soon as
   * the last answer is taken, whether by the event loop or by a thread that polls or blocks.
   */
  whenMapped(slots: readonly number[], act: () => void): void {
    const isMapped = slots.every((slot) => this.#entries.get(slot)?.isMapped !== false);
    if (isMapped) act();
    else this.#waiting.push({ slots, act });
  }

  #wake(): void {
    for (const { slots, act } of this.#waiting.splice(0)) this.whenMapped(slots, act);
  }

  /** How the regions of these places reach the plugin processes, each way once. */
  ways(places: readonly BlockPlace[]): RegionWay[] {
    const ways = new Set<RegionWay>();
    for (const { region } of places) {
      const way = this.#entries.get(region)?.share.way;
      if (way !== undefined) ways.add(way);
    }
    return [...ways];
  }

  /** What is about to be sent goes into the shadows of regions that have one. */
  fillShadows(places: readonly BlockPlace[], lengths: Float64Array): void {
    this.#eachShadow(places, lengths, 'fill');
  }

  /** What has been received comes out of the shadows. */
  drainShadows(places: readonly BlockPlace[], lengths: Float64Array): void {
    this.#eachShadow(places, lengths, 'drain');
  }

  #eachShadow(places: readonly BlockPlace[], lengths: Float64Array, how: 'fill' | 'drain'): void {
    for (const [index, { region, offset }] of places.entries()) {
      const shadow = this.#entries.get(region)?.share.shadow;
      const bytes = lengths[index];
      if (shadow !== undefined && bytes !== undefined) shadow[how](offset, bytes);
    }
  }
}
