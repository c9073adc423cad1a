// Seeded random numbers (xoshiro128**), so that a failing test replays from its seed.
// Not for secrets: keys and nonces come from node:crypto.

export interface Random {
  /** Uniform in 0 … 2^32 − 1. */
  nextUint32(): number;
  /** Uniform in [0, 1). */
  nextFloat(): number;
  /** Uniform whole number in [minimum, maximum], both included. */
  nextBetween(minimum: number, maximum: number): number;
  /** True with the given probability. */
  nextChance(probability: number): boolean;
}

export function seededRandom(seed: number): Random {
  const state = new Uint32Array(4);
  for (let index = 0; index < 4; index++) state[index] = splitMix(seed + index);
  const nextUint32 = (): number => advance(state);
  const nextFloat = (): number => nextUint32() / 2 ** 32;
  return {
    nextUint32,
    nextFloat,
    nextBetween: (minimum, maximum) => minimum + Math.floor(nextFloat() * (maximum - minimum + 1)),
    nextChance: (probability) => nextFloat() < probability,
  };
}

function advance(state: Uint32Array): number {
  const s0 = state[0] ?? 0;
  const s1 = state[1] ?? 0;
  const s2 = (state[2] ?? 0) ^ s0;
  const s3 = (state[3] ?? 0) ^ s1;
  const result = Math.imul(rotateLeft(Math.imul(s1, 5), 7), 9);
  state[1] = s1 ^ s2;
  state[0] = s0 ^ s3;
  state[2] = s2 ^ (s1 << 9);
  state[3] = rotateLeft(s3, 11);
  return result >>> 0;
}

function rotateLeft(value: number, count: number): number {
  return (value << count) | (value >>> (32 - count));
}

function splitMix(seed: number): number {
  let value = (seed + 0x9e3779b9) | 0;
  value = Math.imul(value ^ (value >>> 16), 0x21f0aaad);
  value = Math.imul(value ^ (value >>> 15), 0x735a2d97);
  return value ^ (value >>> 15);
}
