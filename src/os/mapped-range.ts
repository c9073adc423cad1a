// How far memory of this process is mapped and readable, as the kernel has it: whoever is handed an
// address by foreign code asks before it looks there.

import { readFileSync } from 'node:fs';

/** Bytes that can be read from the address on; 0 where nothing is mapped. */
export function readableBytes(addr: number, maps = readMaps()): number {
  let end = 0;
  for (const [, from = '', to = '', rights = ''] of maps.matchAll(
    /^([0-9a-f]+)-([0-9a-f]+) (\S+)/gm,
  )) {
    const begin = Number.parseInt(from, 16);
    const isFirst = end === 0 && begin <= addr && addr < Number.parseInt(to, 16);
    if (!rights.startsWith('r')) continue;
    if (isFirst || (end !== 0 && begin === end)) end = Number.parseInt(to, 16);
  }
  return end === 0 ? 0 : end - addr;
}

function readMaps(): string {
  return readFileSync('/proc/self/maps', 'utf8');
}
