// Bytes that depend on their position and on a seed: a byte that lands at the wrong place, or that
// was skipped, shows.

/** Fills with the pattern of `seed`; `position` is the place of the first byte in the whole. */
export function fillPattern(bytes: Uint8Array, seed: number, position = 0): void {
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = patternByte(seed, position + index);
  }
}

/** Index of the first byte that differs from the pattern, or −1. */
export function findMismatch(bytes: Uint8Array, seed: number, position = 0): number {
  for (let index = 0; index < bytes.length; index++) {
    if (bytes[index] !== patternByte(seed, position + index)) return index;
  }
  return -1;
}

function patternByte(seed: number, position: number): number {
  const mixed = Math.imul(position ^ Math.imul(seed, 0x9e3779b1), 0x85ebca6b);
  return (mixed >>> 13) & 255;
}
