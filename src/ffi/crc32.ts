// CRC-32 over memory by address. The code is zlib's, which Node carries inside and exports, or
// which the system has as a library: a JavaScript call per chunk would need an object per chunk.

import koffi from 'koffi';
import { TcpxError } from '../base/errors.js';
import type { Address, ByteCount } from '../base/quantity.js';
import { mapMemory, unmapMemory, viewMapping } from './libc/mapping.js';

type Crc32 = (seed: number, addr: Address, bytes: ByteCount) => number;

/** Where it may be: Node's own copy under the names that its builds use, then the system's. */
const PLACES: readonly (readonly [string | null, string])[] = [
  [null, 'Cr_z_crc32'],
  [null, 'crc32'],
  ['libz.so.1', 'crc32'],
];

let found: Crc32 | undefined;

/** CRC-32 of `bytes` at `addr`, continued from `seed` (0 to begin). Call loadCrc32 first. */
export function crc32At(seed: number, addr: Address, bytes: ByteCount): number {
  return (found ?? loadCrc32())(seed, addr, bytes);
}

/** Finds the function and checks it; throws ERR_CAP_CHECKSUM where there is none. */
export function loadCrc32(): Crc32 {
  if (found !== undefined) return found;
  const reasons: string[] = [];
  for (const [library, name] of PLACES) {
    const where = `${name} in ${library ?? 'node'}`;
    try {
      const candidate = koffi
        .load(library)
        .func(`unsigned long ${name}(unsigned long, uintptr_t, unsigned int)`) as Crc32;
      if (isCrc32(candidate)) {
        found = candidate;
        return candidate;
      }
      reasons.push(`${where}: wrong result`);
    } catch {
      reasons.push(`${where}: absent`);
    }
  }
  throw new TcpxError('ERR_CAP_CHECKSUM', `probed ${reasons.join(', ')}`);
}

// The check value of the CRC catalogue: "123456789" gives cbf43926.
function isCrc32(candidate: Crc32): boolean {
  const text = new TextEncoder().encode('123456789');
  const mapping = mapMemory(4096);
  new Uint8Array(viewMapping(mapping)).set(text);
  const whole = candidate(0, mapping.addr, text.length);
  const parts = candidate(candidate(0, mapping.addr, 4), mapping.addr + 4, text.length - 4);
  unmapMemory(mapping);
  return whole === 0xcbf43926 && parts === whole;
}
