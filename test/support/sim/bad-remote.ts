// Memory of a peer that it has to refuse: a forged key, an end too far, no rights, or gone since.

import type { Random } from '../../../src/base/random.js';
import type { RegionDescriptor } from '../../../src/memory/region.js';
import type { Machine } from './sim-job.js';
import { CELL_BYTES } from './sim-memory.js';

export interface BadRemote {
  readonly remote: RegionDescriptor;
  /** Any of these may be the answer. */
  readonly codes: readonly string[];
  readonly offset?: number;
}

export function badRemote(random: Random, peer: Machine): BadRemote {
  const { memory } = peer;
  const [region] = memory.regions;
  if (region === undefined) throw new Error('no region');
  const { descriptor } = region;
  const stale = memory.stale.at(-1);
  switch (random.nextBetween(0, stale === undefined ? 2 : 3)) {
    case 0: {
      const key = `${descriptor.key.startsWith('0') ? '1' : '0'}${descriptor.key.slice(1)}`;
      return { remote: { ...descriptor, key }, codes: ['ERR_PEER_KEY'] };
    }
    case 1: {
      const bytes = descriptor.bytes + CELL_BYTES;
      const remote = { ...descriptor, bytes };
      return { remote, codes: ['ERR_PEER_BOUNDS'], offset: descriptor.bytes };
    }
    case 2:
      return { remote: memory.closed.descriptor, codes: ['ERR_PEER_RIGHTS'] };
    default:
      return {
        remote: stale ?? descriptor,
        codes: ['ERR_PEER_STALE_REGION', 'ERR_PEER_KEY'],
      };
  }
}
