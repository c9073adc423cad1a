// Bytes that depend on their position and a seed, so that a misplaced, missing or stale byte shows,
// whichever memory it lies in: kernels/pattern.cu makes the same ones on a GPU.

const TWO_32 = 2 ** 32;

export interface Mismatch {
  /** Bytes that differ. */
  readonly count: number;
  /** The lowest index that differs; undefined when none does. */
  readonly firstIndex: number | undefined;
}

/** Four bytes of the pattern, little-endian, at positions 4 × index … 4 × index + 3. */
export function patternPart(seed: number, index: number): number {
  return mix(seed, index % TWO_32, highTerm(index)) >>> 0;
}

// As a signed word; `low` counts modulo 2^32, signed or not.
function mix(seed: number, low: number, high: number): number {
  let value = Math.imul(low ^ seed, 0x9e3779b1) ^ high;
  value ^= value >>> 16;
  value = Math.imul(value, 0x21f0aaad);
  return value ^ (value >>> 15);
}

function highTerm(index: number): number {
  return Math.imul(Math.floor(index / TWO_32), 0x85ebca77);
}

export function patternByte(seed: number, position: number): number {
  return (patternPart(seed, Math.floor(position / 4)) >>> ((position % 4) * 8)) & 0xff;
}

/** `position` is the pattern position of the first byte. */
export function fillPattern(memory: Uint8Array, seed: number, position = 0): void {
  const words = wordsOf(memory, position);
  const first = position / 4;
  const high = highTerm(first);
  for (let word = 0; word < words.length; word++) {
    words[word] = mix(seed, (first + word) | 0, high);
  }
  for (let index = words.length * 4; index < memory.length; index++) {
    memory[index] = patternByte(seed, position + index);
  }
}

/** Index of the first byte that differs, or −1. */
export function findMismatch(memory: Uint8Array, seed: number, position = 0): number {
  const words = wordsOf(memory, position);
  const first = position / 4;
  const high = highTerm(first);
  let word = 0;
  while (word < words.length && words[word] === mix(seed, (first + word) | 0, high)) word++;
  for (let index = word * 4; index < memory.length; index++) {
    if (memory[index] !== patternByte(seed, position + index)) return index;
  }
  return -1;
}

export function verifyPattern(memory: Uint8Array, seed: number, position = 0): Mismatch {
  const first = findMismatch(memory, seed, position);
  if (first < 0) return { count: 0, firstIndex: undefined };
  let count = 0;
  for (let index = first; index < memory.length; index++) {
    if (memory[index] !== patternByte(seed, position + index)) count++;
  }
  return { count, firstIndex: first };
}

// Whole words where memory and position are both aligned and count below one multiple of 2^32;
// otherwise none, and bytes alone.
function wordsOf(memory: Uint8Array, position: number): Int32Array {
  const isAligned = memory.byteOffset % 4 === 0 && position % 4 === 0;
  const last = position / 4 + (memory.length >> 2);
  const isOneSpan = Math.floor(position / 4 / TWO_32) === Math.floor(last / TWO_32);
  if (!isAligned || !isOneSpan) return new Int32Array(0);
  return new Int32Array(memory.buffer, memory.byteOffset, memory.length >> 2);
}
