// A 64-bit sum of a span of memory for end-to-end checks: not cryptographic, but a changed, moved
// or exchanged word shows. Two 32-bit sums over the little-endian words of the span (the last one
// padded with zeros), each term mixed with its index: addition commutes, so a GPU may take the
// words in any order, and the mixing makes order count all the same.
// kernels/pattern.cu computes the two sums; the length joins here.

import { byteAt } from '../base/assert.js';
import { patternPart } from './pattern.js';

const KEY_SEED = 0x5bd1e995;

export interface PartSums {
  readonly low: number;
  readonly high: number;
}

export function checksumHost(source: Uint8Array): bigint {
  return finishChecksum(sumParts(source), source.length);
}

/** The two sums as the device delivers them, and the length, make the checksum. */
export function finishChecksum(sums: PartSums, bytes: number): bigint {
  const low = (sums.low ^ patternPart(KEY_SEED, bytes)) >>> 0;
  return (BigInt(sums.high >>> 0) << 32n) | BigInt(low);
}

function sumParts(source: Uint8Array): PartSums {
  let low = 0;
  let high = 0;
  const parts = Math.ceil(source.length / 4);
  for (let index = 0; index < parts; index++) {
    const value = mixPart(partAt(source, index * 4), index);
    low = (low + value) | 0;
    high = (high + Math.imul(value ^ 0xa5a5a5a5, 2 * index + 0x9e3779b1)) | 0;
  }
  return { low: low >>> 0, high: high >>> 0 };
}

// Beyond the end there are zeros.
function partAt(source: Uint8Array, first: number): number {
  let part = 0;
  const end = Math.min(first + 4, source.length);
  for (let index = first; index < end; index++) {
    part |= byteAt(source, index) << ((index - first) * 8);
  }
  return part;
}

function mixPart(part: number, index: number): number {
  let value = Math.imul(part ^ patternPart(KEY_SEED, index), 0xcc9e2d51);
  value ^= value >>> 15;
  value = Math.imul(value, 0x1b873593);
  return value ^ (value >>> 13);
}
