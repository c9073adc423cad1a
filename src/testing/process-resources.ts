// What this process holds of the kernel: descriptors and mapped bytes.

import { readdirSync, readFileSync } from 'node:fs';

/** Open descriptors; the one that lists them is not counted. */
export function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length - 1;
}

/** Bytes of anonymous mappings; adjacent ones merge, so that only the sum tells. */
export function mappedBytes(): number {
  let bytes = 0;
  for (const line of readFileSync('/proc/self/maps', 'utf8').split('\n')) {
    const [range = '', mode = '', , , inode = '', path = ''] = line.split(/\s+/);
    if (inode !== '0' || path !== '' || !mode.startsWith('rw')) continue;
    const [start = '0', end = '0'] = range.split('-');
    bytes += Number.parseInt(end, 16) - Number.parseInt(start, 16);
  }
  return bytes;
}
