// How a writer copies payload into the rings of shared memory, as a receipt says it.

import type { SendWayName } from '../../../flow/send-way.js';
import { pastCacheCode } from '../../../os/fixed-memory.js';
import type { Choice } from '../../receipt.js';

/** What no reference is through a ring goes past the cache. */
export const RING_COPIES: Readonly<Record<SendWayName, string>> = {
  splice: 'past the cache',
  copy: 'through the cache',
};

/** Of a transfer for which nothing was to be chosen: why not, where copies past it are there. */
export function throughCache(reason: string): Choice {
  return { name: 'copies', value: RING_COPIES.copy, reason: obstacle() ?? reason };
}

function obstacle(): string | undefined {
  if (process.arch !== 'x64') return `auto: no copy past it is carried for ${process.arch}`;
  return pastCacheCode() === undefined ? 'auto: this process may have no machine code' : undefined;
}
