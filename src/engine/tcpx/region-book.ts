// Regions that plugin processes have mapped, and the check of what peers ask of them. They are
// not the control engine's: nothing reaches them but the plugin.

import { TcpxError } from '../../base/errors.js';
import {
  type Region,
  type RegionDescriptor,
  RegionRegistry,
  type RegionRights,
  type RegionSource,
} from '../../memory/region.js';
import { REGION_ENTRY_BYTES, regionTableOver } from '../../memory/region-table.js';
import type { RegionWay } from '../../provider/tcpx/host-region.js';
import type { RegionShare } from '../../provider/tcpx/region-share.js';
import { isSameProof } from '../trust.js';
import type { BlockPlace } from './chunk-places.js';
import type { BlockTuple } from './control-message.js';

interface Entry {
  readonly region: Region;
  readonly share: RegionShare;
}

export class RegionBook {
  readonly #registry: RegionRegistry;
  readonly #entries = new Map<number, Entry>();

  constructor(regionsMax: number) {
    const buffer = new ArrayBuffer(regionsMax * REGION_ENTRY_BYTES);
    const views = { int32: new Int32Array(buffer), float64: new Float64Array(buffer) };
    this.#registry = new RegionRegistry(regionTableOver(views, 0, regionsMax));
  }

  /** Gives it a number; nobody reaches it before `add`. */
  register(source: RegionSource, rights: RegionRights): Region {
    return this.#registry.register(source, rights);
  }

  add(region: Region, share: RegionShare): void {
    this.#entries.set(region.id, { region, share });
  }

  /** From now on nobody reaches it; its share is for the caller to close. */
  hide(region: Region): RegionShare | undefined {
    const entry = this.#entries.get(region.id);
    if (entry?.region !== region) return undefined;
    this.#entries.delete(region.id);
    return entry.share;
  }

  /** Its number is free for another. */
  forget(region: Region): void {
    this.#registry.finishClose(region);
  }

  /** Shares of all that is registered. */
  shares(): RegionShare[] {
    return [...this.#entries.values()].map(({ share }) => share);
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
  fillShadows(places: readonly BlockPlace[], lengths: readonly number[]): void {
    this.#eachShadow(places, lengths, 'fill');
  }

  /** What has been received comes out of the shadows. */
  drainShadows(places: readonly BlockPlace[], lengths: readonly number[]): void {
    this.#eachShadow(places, lengths, 'drain');
  }

  #eachShadow(
    places: readonly BlockPlace[],
    lengths: readonly number[],
    how: 'fill' | 'drain',
  ): void {
    for (const [index, { region, offset }] of places.entries()) {
      const bytes = lengths[index] ?? 0;
      const shadow = this.#entries.get(region)?.share.shadow;
      if (shadow !== undefined && bytes > 0) shadow[how](offset, bytes);
    }
  }

  /** A block of an own region, checked for bounds. */
  ownPlace(region: Region, offset: number, bytes: number): BlockPlace {
    if (this.#entries.get(region.id)?.region !== region) {
      throw new TcpxError(
        'ERR_USAGE_NOT_SUPPORTED',
        `region ${region.id}: not registered with this provider; allocate host memory with ` +
          'TcpxProvider.allocate, or use the tcp provider',
      );
    }
    if (!isInside(region.bytes, offset, bytes)) {
      throw new TcpxError(
        'ERR_USAGE_ARGUMENT',
        `block of ${bytes} bytes at ${offset} reaches beyond region ${region.id}`,
      );
    }
    return { region: region.id, offset };
  }

  /** Blocks that a peer names: a region's proof is looked at once, the bounds of each block. */
  peerPlaces(
    descriptors: readonly RegionDescriptor[],
    right: 'read' | 'write',
    blocks: readonly BlockTuple[],
  ): BlockPlace[] {
    const proved = new Map<number, number>();
    return blocks.map(([index, offset, bytes]) => {
      const descriptor = descriptors[index];
      if (isInside(proved.get(index) ?? -1, offset, bytes)) {
        return { region: descriptor?.slot ?? 0, offset };
      }
      const place = this.peerPlace(descriptor, right, offset, bytes);
      proved.set(index, this.#entries.get(place.region)?.region.bytes ?? -1);
      return place;
    });
  }

  /** A block that a peer names: stale, foreign, forbidden and out of bounds are refused. */
  peerPlace(
    descriptor: RegionDescriptor | undefined,
    right: 'read' | 'write',
    offset: number,
    bytes: number,
  ): BlockPlace {
    const entry = descriptor === undefined ? undefined : this.#entries.get(descriptor.slot);
    const region = entry?.region;
    if (descriptor === undefined || region?.generation !== descriptor.generation) {
      throw new TcpxError('ERR_PEER_STALE_REGION', `region ${descriptor?.slot ?? '?'}: not here`);
    }
    const given = Buffer.from(descriptor.key, 'hex');
    if (!isSameProof(given, Buffer.from(region.descriptor.key, 'hex'))) {
      throw new TcpxError('ERR_PEER_KEY', `region ${region.id}: another key`);
    }
    if (!region.rights[right]) {
      throw new TcpxError('ERR_PEER_RIGHTS', `region ${region.id}: no right to ${right}`);
    }
    if (!isInside(region.bytes, offset, bytes)) {
      throw new TcpxError(
        'ERR_PEER_BOUNDS',
        `region ${region.id}: ${bytes} bytes at ${offset} reach beyond ${region.bytes}`,
      );
    }
    return { region: region.id, offset };
  }
}

function isInside(regionBytes: number, offset: number, bytes: number): boolean {
  return offset >= 0 && bytes >= 0 && offset + bytes <= regionBytes;
}
