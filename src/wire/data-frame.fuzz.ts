// Heads and tables of data frames: any words break a rule that has a text, or stay within limits.

import assert from 'node:assert/strict';
import { decodesOrRefuses, fuzzTarget } from '../../test/support/fuzz-target.js';
import { mutatedBytes } from '../../test/support/mutated-bytes.js';
import { isRefusal } from '../base/failure.js';
import { checkHead, checkTable, RULE_NONE, readLong } from './data-frame.hot.js';
import * as frame from './data-frame.js';
import { FRAME_RULES } from './data-frame-rules.js';
import { decodeSignal, encodeControlLost, encodeFence, isFence } from './fence-signal.js';
import { bytesOfHex, DATA_VECTORS } from './vectors/data-vectors.js';

const CHUNK_BYTES_MAX = 524288;
const WHOLE_BYTES = frame.DATA_HEAD_BYTES + 4 * frame.TABLE_ENTRY_BYTES;
const TABLE_WORD = frame.DATA_HEAD_BYTES / 4;

/** As a lane sees them: at least a head and a few entries, whatever they hold. */
function padded(bytes: Uint8Array): Uint32Array {
  const memory = new Uint8Array(WHOLE_BYTES);
  memory.set(bytes.subarray(0, WHOLE_BYTES));
  return new Uint32Array(memory.buffer);
}

function checkWords(words: Uint32Array, isChecked: boolean): void {
  const rule = checkHead(words, 0, CHUNK_BYTES_MAX, isChecked);
  if (rule !== RULE_NONE) {
    assert.equal(typeof FRAME_RULES[rule], 'string', `rule ${rule}`);
    return;
  }
  assert.ok(words[frame.WORD_PAYLOAD_BYTES]! <= CHUNK_BYTES_MAX);
  assert.ok(readLong(words, frame.WORD_OFFSET_LOW) <= Number.MAX_SAFE_INTEGER);
  const entries = words[frame.WORD_KIND]! >>> frame.TABLE_ENTRIES_SHIFT;
  assert.ok(entries <= frame.TABLE_ENTRIES_MAX);
  if (entries === 0 || entries > 4) return;
  const isSum = isChecked && (words[0]! & 255) !== frame.FRAME_READ_REQUEST;
  const operationBytes = words[isSum ? frame.WORD_PAYLOAD_BYTES : frame.WORD_OPERATION_BYTES]!;
  const tableRule = checkTable(words, TABLE_WORD, entries, operationBytes);
  if (tableRule !== RULE_NONE) {
    assert.equal(typeof FRAME_RULES[tableRule], 'string', `rule ${tableRule}`);
    return;
  }
  let sum = 0;
  for (let index = 0; index < entries; index++) sum += words[TABLE_WORD + index * 4 + 2]!;
  assert.equal(sum, operationBytes);
}

const signals = [
  encodeControlLost({ controlEpoch: 7 }),
  encodeFence({ channel: 1, epoch: 2, landed: 3, isDamaged: false, refusals: [] }),
  encodeFence({
    channel: 0,
    epoch: 0,
    landed: 9,
    isDamaged: true,
    refusals: [{ sequence: 8, reason: 2 }],
  }),
];

export const FUZZ_TARGETS = [
  fuzzTarget(
    'signal: itself again, or a wire error',
    { runs: 3000 },
    mutatedBytes(signals),
    (bytes) => {
      const signal = decodesOrRefuses(decodeSignal, bytes, /^ERR_WIRE_/);
      if (signal === undefined) return;
      if (!isFence(signal)) {
        assert.deepEqual(encodeControlLost(signal), Uint8Array.from(bytes));
        return;
      }
      assert.ok(signal.refusals.every(({ reason }) => isRefusal(reason)));
      assert.deepEqual(encodeFence(signal), Uint8Array.from(bytes));
    },
  ),
  fuzzTarget(
    'data frame: a rule with a text, or within every limit',
    { runs: 5000 },
    mutatedBytes(DATA_VECTORS.map((vector) => bytesOfHex(vector.hex))),
    (bytes) => {
      for (const isChecked of [false, true]) checkWords(padded(bytes), isChecked);
    },
  ),
];
