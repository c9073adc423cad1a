// CRC-32 of a data frame's head, as zlib has it: polynomial 0xedb88320, reflected, all ones at the
// start and inverted at the end. A call to C would take longer than these 64 bytes do.

import { DATA_HEAD_BYTES, WORD_HEAD_CHECK } from './data-frame.js';

const POLYNOMIAL = 0xedb88320;
const HEAD_WORDS = DATA_HEAD_BYTES / 4;

// By the place of a byte in its word: what it adds to the sum.
const LAST = byteSums();
const THIRD = behindOneMore(LAST);
const SECOND = behindOneMore(THIRD);
const FIRST = behindOneMore(SECOND);

function byteSums(): Int32Array {
  return Int32Array.from({ length: 256 }, (_, byte) => {
    let sum = byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum & 1) !== 0 ? (sum >>> 1) ^ POLYNOMIAL : sum >>> 1;
    return sum;
  });
}

function behindOneMore(sums: Int32Array): Int32Array {
  return sums.map((sum) => (sum >>> 8) ^ LAST[sum & 255]!);
}

/** The check of the head at `word`; the place where the check stands counts as zero. */
export function headCheck(words: Uint32Array, word: number): number {
  let sum = -1;
  for (let index = 0; index < HEAD_WORDS; index++) {
    if (index !== WORD_HEAD_CHECK) sum ^= words[word + index]!;
    sum =
      FIRST[sum & 255]! ^
      SECOND[(sum >>> 8) & 255]! ^
      THIRD[(sum >>> 16) & 255]! ^
      LAST[sum >>> 24]!;
  }
  return ~sum >>> 0;
}
