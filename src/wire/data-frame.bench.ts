// Checks on received heads and descriptor tables, and 64-bit fields.

import type { MicroCase, OpenMicroCase } from '../../test/support/micro-bench.js';
import { checkHead, checkTable, RULE_NONE, readLong, writeLong } from './data-frame.hot.js';
import {
  DATA_HEAD_BYTES,
  FRAME_WRITE,
  TABLE_ENTRIES_MAX,
  TABLE_ENTRY_BYTES,
  WORD_KIND,
  WORD_OFFSET_LOW,
  WORD_OPERATION_BYTES,
  WORD_PAYLOAD_BYTES,
} from './data-frame.js';
import { headCheck } from './head-check.hot.js';

const CHUNK_BYTES = 512 * 1024;
const BLOCK_BYTES = 256;
const HEAD_WORDS = DATA_HEAD_BYTES / 4;
/** Heads in turn, as they lie in a receive buffer; a power of two. */
const HEADS = 64;

function openHeads(): OpenMicroCase {
  const words = new Uint32Array(HEADS * HEAD_WORDS);
  for (let head = 0; head < HEADS; head++) {
    words[head * HEAD_WORDS + WORD_KIND] = FRAME_WRITE;
    words[head * HEAD_WORDS + WORD_PAYLOAD_BYTES] = CHUNK_BYTES - head;
    words[head * HEAD_WORDS + WORD_OPERATION_BYTES] = CHUNK_BYTES - head;
  }
  return {
    run: (operations) => {
      let broken = 0;
      for (let index = 0; index < operations; index++) {
        broken += checkHead(words, (index & (HEADS - 1)) * HEAD_WORDS, CHUNK_BYTES, false);
      }
      if (broken !== RULE_NONE) throw new Error('a good head was refused');
    },
    close: () => undefined,
  };
}

function openChecks(): OpenMicroCase {
  const words = new Uint32Array(HEADS * HEAD_WORDS).map((_, index) => index * 0x9e3779b1);
  return {
    run: (operations) => {
      let sum = 0;
      for (let index = 0; index < operations; index++) {
        sum |= headCheck(words, (index & (HEADS - 1)) * HEAD_WORDS);
      }
      if (sum === 0) throw new Error('heads without a check');
    },
    close: () => undefined,
  };
}

function openTable(): OpenMicroCase {
  const entryWords = TABLE_ENTRY_BYTES / 4;
  const words = new Uint32Array(TABLE_ENTRIES_MAX * entryWords);
  for (let entry = 0; entry < TABLE_ENTRIES_MAX; entry++) {
    writeLong(words, entry * entryWords, entry * 2 * BLOCK_BYTES);
    words[entry * entryWords + 2] = BLOCK_BYTES;
  }
  const operationBytes = TABLE_ENTRIES_MAX * BLOCK_BYTES;
  return {
    run: (operations) => {
      for (let done = 0; done < operations; done += TABLE_ENTRIES_MAX) {
        const rule = checkTable(words, 0, TABLE_ENTRIES_MAX, operationBytes);
        if (rule !== RULE_NONE) throw new Error('a good table was refused');
      }
    },
    close: () => undefined,
  };
}

function openLongs(): OpenMicroCase {
  const words = new Uint32Array(HEADS * HEAD_WORDS);
  const base = 5 * 2 ** 32;
  return {
    run: (operations) => {
      for (let index = 0; index < operations; index++) {
        const word = (index & (HEADS - 1)) * HEAD_WORDS + WORD_OFFSET_LOW;
        writeLong(words, word, base + index);
        if (readLong(words, word) !== base + index) throw new Error('an offset has changed');
      }
    },
    close: () => undefined,
  };
}

export const MICRO_CASES: readonly MicroCase[] = [
  { name: 'wire: check one head', operations: 5_000_000, open: openHeads },
  { name: 'wire: the check of one head', operations: 2_000_000, open: openChecks },
  {
    name: `wire: check one entry of a table of ${TABLE_ENTRIES_MAX}`,
    operations: 5_000_000,
    open: openTable,
  },
  { name: 'wire: write and read one 64-bit field', operations: 5_000_000, open: openLongs },
];
