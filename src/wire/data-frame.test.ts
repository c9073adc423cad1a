import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import {
  checkHead,
  checkTable,
  RULE_CHUNK_BYTES,
  RULE_KIND,
  RULE_NONE,
  RULE_OFFSET,
  RULE_PAYLOAD_BYTES,
  RULE_REFUSAL,
  RULE_RESERVED,
  RULE_TABLE_ENTRIES,
  RULE_TABLE_SUM,
  readLong,
  writeLong,
} from './data-frame.hot.js';
import * as frame from './data-frame.js';
import { FRAME_RULES, frameName } from './data-frame-rules.js';
import { headCheck } from './head-check.hot.js';
import { bytesOfHex, DATA_VECTORS, type DataVector } from './vectors/data-vectors.js';

const CHUNK_BYTES_MAX = 524288;

/** The frame by its field table alone: no offset is written twice. */
function build(vector: DataVector): Uint8Array {
  const payload = bytesOfHex(vector.payload);
  const tableBytes = vector.table.length * frame.TABLE_ENTRY_BYTES;
  const bytes = new Uint8Array(frame.DATA_HEAD_BYTES + tableBytes + payload.length);
  const put = (offset: number, length: number, value: number | string): void => {
    if (typeof value === 'string') bytes.set(bytesOfHex(value), offset);
    else
      for (let index = 0; index < length; index++) {
        bytes[offset + index] = Math.floor(value / 256 ** index) % 256;
      }
  };
  for (const field of frame.DATA_HEAD_FIELDS) {
    put(field.offset, field.bytes, vector.values[field.name] ?? 0);
  }
  for (const [index, entry] of vector.table.entries()) {
    const base = frame.DATA_HEAD_BYTES + index * frame.TABLE_ENTRY_BYTES;
    for (const field of frame.TABLE_ENTRY_FIELDS) {
      const value = field.name === 'reserved' ? 0 : entry[field.name as keyof typeof entry];
      put(base + field.offset, field.bytes, value);
    }
  }
  bytes.set(payload, frame.DATA_HEAD_BYTES + tableBytes);
  return bytes;
}

function wordsOf(hex: string): Uint32Array {
  const bytes = bytesOfHex(hex);
  return new Uint32Array(bytes.buffer.slice(0, bytes.length & ~3));
}

test('data frame: there is a golden vector for every kind', () => {
  const kinds = new Set(DATA_VECTORS.map((vector) => vector.values['kind']));
  assert.deepEqual([...kinds].sort(), [1, 2, 3, 4, 5, 6, 7]);
  for (const { name, values } of DATA_VECTORS) {
    assert.ok(name.startsWith(frameName(Number(values['kind']))), name);
    for (const field of Object.keys(values)) {
      assert.ok(frame.DATA_HEAD_FIELDS.some((known) => known.name === field));
    }
  }
});

for (const vector of DATA_VECTORS) {
  test(`data frame: ${vector.name} is its golden bytes, and breaks no rule`, () => {
    assert.equal(Buffer.from(build(vector)).toString('hex'), vector.hex.replaceAll(' ', ''));
    const words = wordsOf(vector.hex);
    const isChecked = vector.isChecked === true;
    assert.equal(checkHead(words, 0, CHUNK_BYTES_MAX, isChecked), RULE_NONE);
    const entries = words[frame.WORD_KIND]! >>> frame.TABLE_ENTRIES_SHIFT;
    const operationBytes =
      words[isChecked ? frame.WORD_PAYLOAD_BYTES : frame.WORD_OPERATION_BYTES]!;
    if (entries > 0) {
      assert.equal(
        checkTable(words, frame.DATA_HEAD_BYTES / 4, entries, operationBytes),
        RULE_NONE,
      );
    }
    if (!isChecked) return;
    const bytes = bytesOfHex(vector.hex);
    const tableEnd = frame.DATA_HEAD_BYTES + entries * frame.TABLE_ENTRY_BYTES;
    const head = bytes.slice(0, frame.DATA_HEAD_BYTES).fill(0, 24, 28);
    assert.equal(words[frame.WORD_HEAD_CHECK], crc32(head));
    assert.equal(headCheck(words, 0), crc32(head));
    if (bytes.length > tableEnd) {
      assert.equal(words[frame.WORD_OPERATION_BYTES], crc32(bytes.slice(tableEnd)));
    }
    if (entries > 0) {
      const table = bytes.slice(frame.DATA_HEAD_BYTES, tableEnd);
      assert.equal(words[frame.WORD_OFFSET_LOW], crc32(table));
    }
  });
}

test('data frame: word indexes are those of the field table', () => {
  const words: Record<string, number> = {
    kind: frame.WORD_KIND,
    payloadBytes: frame.WORD_PAYLOAD_BYTES,
    acknowledged: frame.WORD_ACK,
    sequence: frame.WORD_SEQUENCE,
    transfer: frame.WORD_TRANSFER_LOW,
    headCheck: frame.WORD_HEAD_CHECK,
    regionSlot: frame.WORD_REGION_SLOT,
    regionGeneration: frame.WORD_REGION_GENERATION,
    regionKey: frame.WORD_KEY,
    operationBytes: frame.WORD_OPERATION_BYTES,
    offset: frame.WORD_OFFSET_LOW,
  };
  for (const field of frame.DATA_HEAD_FIELDS) {
    if (!['flags', 'tableEntries'].includes(field.name))
      assert.equal(words[field.name]! * 4, field.offset, field.name);
  }
  assert.equal(frame.WORD_TRANSFER_HIGH, frame.WORD_TRANSFER_LOW + 1);
  assert.equal(frame.WORD_OFFSET_HIGH, frame.WORD_OFFSET_LOW + 1);
});

type Change = Readonly<Record<number, number>>;
const [write, , readRequest, readData, notify, ack, refuse] = DATA_VECTORS;

const BROKEN: readonly (readonly [string, DataVector | undefined, Change, number])[] = [
  ['kind 0', write, { 0: 0 }, RULE_KIND],
  ['kind 8', write, { 0: 8 }, RULE_KIND],
  ['kind 255', write, { 0: 255 }, RULE_KIND],
  ['an unknown flag', write, { 0: 0x0201 }, RULE_RESERVED],
  ['the last unknown flag', readData, { 0: 0x8003 }, RULE_RESERVED],
  ['a write that is to be confirmed as an answer', write, { 0: 0x0101 }, RULE_RESERVED],
  ['an ACK that is to be confirmed', ack, { 0: 0x0105 }, RULE_RESERVED],
  ['a check where none was agreed', write, { 6: 1 }, RULE_RESERVED],
  ['a write of nothing', write, { 1: 0, 13: 0 }, RULE_CHUNK_BYTES],
  ['a write above the chunk size', write, { 1: 524289, 13: 524289 }, RULE_CHUNK_BYTES],
  ['a write of 4 GiB', write, { 1: 0xffffffff, 13: 0xffffffff }, RULE_CHUNK_BYTES],
  ['a write whose payload differs', write, { 1: 5 }, RULE_PAYLOAD_BYTES],
  ['a write with 1,001 entries', write, { 0: (1001 << 16) | 1 }, RULE_TABLE_ENTRIES],
  ['a write at 2^53', write, { 15: 0x200000 }, RULE_OFFSET],
  ['a write at 2^64 − 1', write, { 14: 0xffffffff, 15: 0xffffffff }, RULE_OFFSET],
  ['a read request with payload', readRequest, { 1: 1 }, RULE_PAYLOAD_BYTES],
  ['a read request of nothing', readRequest, { 13: 0 }, RULE_CHUNK_BYTES],
  ['a read request above the chunk size', readRequest, { 13: 524289 }, RULE_CHUNK_BYTES],
  ['a read answer with a table', readData, { 0: 0x10003 }, RULE_TABLE_ENTRIES],
  ['a read answer of nothing', readData, { 1: 0, 13: 0 }, RULE_CHUNK_BYTES],
  ['a read answer whose payload differs', readData, { 1: 3 }, RULE_PAYLOAD_BYTES],
  ['a read answer that asks for a copy', readData, { 0: 0x203 }, RULE_RESERVED],
  ['a notification with a table', notify, { 0: 0x10004 }, RULE_TABLE_ENTRIES],
  ['a notification of 65,537 bytes', notify, { 1: 65537 }, RULE_PAYLOAD_BYTES],
  ['an ACK with payload', ack, { 1: 1 }, RULE_PAYLOAD_BYTES],
  ['an ACK with a table', ack, { 0: 0x20005 }, RULE_TABLE_ENTRIES],
  ['a refusal with payload', refuse, { 1: 8 }, RULE_PAYLOAD_BYTES],
  ['a refusal without a reason', refuse, { 4: 0 }, RULE_REFUSAL],
  ['a refusal with reason 7', refuse, { 4: 7 }, RULE_REFUSAL],
  ['a refusal of an ACK', refuse, { 5: 5 }, RULE_REFUSAL],
];

for (const [name, vector, change, rule] of BROKEN) {
  test(`data frame: ${name} breaks rule ${rule} (${FRAME_RULES[rule]})`, () => {
    const words = wordsOf(vector!.hex);
    for (const [word, value] of Object.entries(change)) words[Number(word)] = value;
    assert.equal(checkHead(words, 0, CHUNK_BYTES_MAX, false), rule);
  });
}

test('data frame: a read request alone may ask for a copy', () => {
  const words = wordsOf(readRequest!.hex);
  words[frame.WORD_KIND]! |= frame.FLAG_COPIED;
  assert.equal(checkHead(words, 0, CHUNK_BYTES_MAX, false), RULE_NONE);
  words[frame.WORD_KIND]! |= frame.FLAG_HELD;
  assert.equal(checkHead(words, 0, CHUNK_BYTES_MAX, false), RULE_RESERVED);
});

test('data frame: a notification of 0 and of 65,536 bytes is fine', () => {
  const words = wordsOf(notify!.hex);
  for (const bytes of [0, 65536]) {
    words[frame.WORD_PAYLOAD_BYTES] = bytes;
    assert.equal(checkHead(words, 0, CHUNK_BYTES_MAX, false), RULE_NONE);
  }
});

test('head check: every single flipped bit shows, and what zlib says is said here', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 64, maxLength: 64 }), (bytes) => {
      const words = new Uint32Array(bytes.slice().buffer);
      const sum = headCheck(words, 0);
      assert.equal(sum, crc32(bytes.slice().fill(0, 24, 28)));
      for (let bit = 0; bit < 512; bit++) {
        const word = bit >> 5;
        if (word === frame.WORD_HEAD_CHECK) continue;
        const whole = words[word]!;
        words[word] = whole ^ (1 << (bit & 31));
        assert.notEqual(headCheck(words, 0), sum);
        words[word] = whole;
      }
    }),
    { numRuns: 20 },
  );
});

test('table: empty entries, wrong sums, reserved words and far offsets are told apart', () => {
  const table = (...entries: readonly (readonly number[])[]) => Uint32Array.from(entries.flat());
  assert.equal(checkTable(table([0, 0, 3, 0], [9, 0, 1, 0]), 0, 2, 4), RULE_NONE);
  assert.equal(checkTable(table([0, 0, 3, 0], [9, 0, 0, 0]), 0, 2, 3), RULE_TABLE_SUM);
  assert.equal(checkTable(table([0, 0, 3, 0], [9, 0, 2, 0]), 0, 2, 4), RULE_TABLE_SUM);
  assert.equal(checkTable(table([0, 0, 3, 0], [9, 0, 1, 7]), 0, 2, 4), RULE_RESERVED);
  assert.equal(checkTable(table([0, 0x200000, 3, 0]), 0, 1, 3), RULE_OFFSET);
  // Lengths that would add up in 32 bits do not pass.
  const wrapping = table([0, 0, 0xffffffff, 0], [0, 0, 5, 0]);
  assert.equal(checkTable(wrapping, 0, 2, 4), RULE_TABLE_SUM);
});

test('data frame: any sixteen words give a rule with a text, or pass every limit', () => {
  const anyWord = fc.oneof(
    fc.nat({ max: 8 }),
    fc.nat({ max: 70_000 }),
    fc.nat({ max: 0xffffffff }),
  );
  fc.assert(
    fc.property(
      fc.array(anyWord, { minLength: 16, maxLength: 16 }),
      fc.boolean(),
      (values, isChecked) => {
        const rule = checkHead(Uint32Array.from(values), 0, CHUNK_BYTES_MAX, isChecked);
        if (rule !== RULE_NONE) {
          assert.equal(typeof FRAME_RULES[rule], 'string');
          return;
        }
        assert.ok((values[0]! & 255) >= 1 && (values[0]! & 255) <= frame.FRAME_KIND_MAX);
        assert.ok(values[frame.WORD_PAYLOAD_BYTES]! <= CHUNK_BYTES_MAX);
        assert.ok(values[0]! >>> frame.TABLE_ENTRIES_SHIFT <= frame.TABLE_ENTRIES_MAX);
      },
    ),
    { numRuns: 2000 },
  );
});

test('long: values below 2^53 survive as two words', () => {
  const words = new Uint32Array(4);
  fc.assert(
    fc.property(fc.maxSafeNat(), (value) => {
      writeLong(words, 1, value);
      assert.equal(readLong(words, 1), value);
    }),
  );
  assert.equal(words[0], 0);
  assert.equal(words[3], 0);
});
