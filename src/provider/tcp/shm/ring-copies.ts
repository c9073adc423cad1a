// How payload is copied into the rings of shared memory and out of them, as a receipt says it.

import { pastCacheCode } from '../../../os/fixed-memory.js';
import type { Choice } from '../../receipt.js';

export function ringCopies(): Choice {
  const name = 'copies';
  if (pastCacheCode() !== undefined) {
    return { name, value: 'past the cache', reason: 'auto: from 16 KiB, as another core reads it' };
  }
  const isKnown = process.arch === 'x64';
  const why = isKnown ? 'this process may have no machine code' : `not for ${process.arch}`;
  return { name, value: 'through the cache', reason: `auto: ${why}` };
}
