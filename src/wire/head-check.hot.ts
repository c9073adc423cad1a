// CRC-32 of a data frame's head, as zlib has it: polynomial 0xedb88320, reflected, all ones at the
// start and inverted at the end. A call to C would take longer than these 64 bytes do.

import { DATA_HEAD_BYTES, WORD_HEAD_CHECK } from './data-frame.js';
import { FIRST, LAST, SECOND, THIRD } from './head-check.js';

const HEAD_WORDS = DATA_HEAD_BYTES / 4;

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
