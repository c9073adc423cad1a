// Regions that plugin processes have mapped, and the check of what peers ask of them.

import { TcpxError } from '../../base/errors.js';
import type { Region, RegionDescriptor } from '../../memory/region.js';
import { isSameProof } from '../trust.js';
import type { BlockPlace } from './chunk-places.js';
import type { BlockTuple } from './control-message.js';

export class RegionBook {
  readonly #regions = new Map<number, Region>();

  add(region: Region): void {
    this.#regions.set(region.id, region);
  }

  remove(region: Region): void {
    this.#regions.delete(region.id);
  }

  /** A block of an own region, checked for bounds. */
  ownPlace(region: Region, offset: number, bytes: number): BlockPlace {
    if (this.#regions.get(region.id) !== region) {
      throw new TcpxError(
        'ERR_USAGE_NOT_SUPPORTED',
        `region ${region.id}: not in shared memory; allocate it with TcpxProvider.allocate, ` +
          'or use the tcp provider',
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
      proved.set(index, this.#regions.get(place.region)?.bytes ?? -1);
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
    const region = descriptor === undefined ? undefined : this.#regions.get(descriptor.slot);
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
