// Bytes that depend on their position and a seed, so that a misplaced, missing or stale byte shows.
// kernels/pattern.cu makes the same ones on the device.

const TWO_32 = 2 ** 32;

export interface Mismatch {
  /** Bytes that differ. */
  readonly count: number;
  /** The lowest index that differs; undefined when none does. */
  readonly firstIndex: number | undefined;
}

/** Four bytes of the pattern, little-endian, at positions 4 × index … 4 × index + 3. */
export function patternPart(seed: number, index: number): number {
  let value = Math.imul((index % TWO_32) ^ seed, 0x9e3779b1);
  value ^= Math.imul(Math.floor(index / TWO_32), 0x85ebca77);
  value ^= value >>> 16;
  value = Math.imul(value, 0x21f0aaad);
  return (value ^ (value >>> 15)) >>> 0;
}

export function patternByte(seed: number, position: number): number {
  return (patternPart(seed, Math.floor(position / 4)) >>> ((position % 4) * 8)) & 0xff;
}

/** `position` is the pattern position of the first byte. */
export function fillPattern(target: Uint8Array, seed: number, position: number): void {
  const end = target.length;
  let index = 0;
  for (; index < end && (position + index) % 4 !== 0; index++) {
    target[index] = patternByte(seed, position + index);
  }
  for (; index + 4 <= end; index += 4) {
    const part = patternPart(seed, (position + index) / 4);
    target[index] = part;
    target[index + 1] = part >>> 8;
    target[index + 2] = part >>> 16;
    target[index + 3] = part >>> 24;
  }
  for (; index < end; index++) target[index] = patternByte(seed, position + index);
}

export function verifyPattern(source: Uint8Array, seed: number, position: number): Mismatch {
  let count = 0;
  let firstIndex: number | undefined;
  let part = 0;
  for (let index = 0; index < source.length; index++) {
    const at = position + index;
    if (index === 0 || at % 4 === 0) part = patternPart(seed, Math.floor(at / 4));
    if (source[index] === ((part >>> ((at % 4) * 8)) & 0xff)) continue;
    count++;
    firstIndex ??= index;
  }
  return { count, firstIndex };
}
