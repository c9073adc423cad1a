// How payload is copied into the rings of shared memory and out of them, as a receipt says it.

import type { SendWayName } from '../../../flow/send-way.js';
import { pastCacheCode } from '../../../os/fixed-memory.js';
import type { Choice } from '../../receipt.js';

/** What no reference is through a ring goes past the cache. */
export const RING_COPIES: Readonly<Record<SendWayName, string>> = {
  splice: 'past the cache',
  copy: 'through the cache',
};

/** Of a transfer for which nothing was to be chosen. */
export function throughCache(): Choice {
  return { name: 'copies', value: RING_COPIES.copy, reason: `auto: ${reasonOfNone()}` };
}

function reasonOfNone(): string {
  if (process.arch !== 'x64') return `no copy past it is carried for ${process.arch}`;
  if (pastCacheCode() === undefined) return 'this process may have no machine code';
  return 'of few bytes, of staged memory, or by the posting thread';
}
