// Payload whose every byte depends on its position and on the iteration, so that a block in the
// wrong place, a stale one or a flipped bit shows. Pure over the memory it is given.

const MULTIPLIER = 0x9e3779b1;

/** Byte at `position` of the payload of an iteration. */
export function patternByte(position: number, seed: number): number {
  return (patternWord(Math.floor(position / 4), seed) >>> (8 * (position & 3))) & 255;
}

function patternWord(index: number, seed: number): number {
  const mixed = Math.imul(index + seed, MULTIPLIER);
  return (mixed ^ (mixed >>> 15)) + seed;
}

/** Fills memory as if its first byte were at `position` of the payload. */
export function fillPattern(memory: Uint8Array, position: number, seed: number): void {
  const words = wordsOf(memory, position);
  let byte = 0;
  if (words !== undefined) {
    let index = position / 4;
    for (let word = 0; word < words.length; word++, index++) {
      const mixed = Math.imul(index + seed, MULTIPLIER);
      words[word] = (mixed ^ (mixed >>> 15)) + seed;
    }
    byte = words.length * 4;
  }
  for (; byte < memory.length; byte++) memory[byte] = patternByte(position + byte, seed);
}

/** Index of the first byte that differs, or −1. */
export function findMismatch(memory: Uint8Array, position: number, seed: number): number {
  const words = wordsOf(memory, position);
  let byte = 0;
  if (words !== undefined) {
    let index = position / 4;
    for (let word = 0; word < words.length; word++, index++) {
      const mixed = Math.imul(index + seed, MULTIPLIER);
      if (words[word] !== (((mixed ^ (mixed >>> 15)) + seed) | 0)) break;
      byte += 4;
    }
  }
  for (; byte < memory.length; byte++) {
    if (memory[byte] !== patternByte(position + byte, seed)) return byte;
  }
  return -1;
}

// Whole words where memory and position are both aligned; otherwise bytes alone.
function wordsOf(memory: Uint8Array, position: number): Int32Array | undefined {
  if ((memory.byteOffset & 3) !== 0 || position % 4 !== 0) return undefined;
  return new Int32Array(memory.buffer, memory.byteOffset, memory.length >> 2);
}
