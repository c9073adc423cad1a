// Data frames as a hostile peer writes them: right in most words, wrong in some.

import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import type { Region } from '../../src/memory/region.js';
import * as frame from '../../src/wire/data-frame.js';
import { headCheck } from '../../src/wire/head-check.hot.js';

/** A frame before it is known which regions and sequence numbers the victim has. */
export interface FrameIdea {
  readonly kind: number;
  /** Index into the victim's regions; beyond the last: a slot that nobody has. */
  readonly region: number;
  readonly isOldGeneration: boolean;
  /** Bit of the key to invert; −1 for none. */
  readonly keyBit: number;
  /** Added to the right sequence number. */
  readonly sequenceOff: number;
  /** Added to what was acknowledged before; `all`: every frame that is made, sent or not. */
  readonly acknowledgedOff: number | 'all';
  readonly bytes: number;
  readonly offset: number;
  /** Offset and length of each entry; none leaves the descriptor in the head. */
  readonly table: readonly (readonly [number, number])[];
  readonly payload: 'whole' | 'short' | 'none';
  /** Which check of a checked session is wrong. */
  readonly checks: 'right' | 'payload wrong' | 'table wrong' | 'head wrong';
  /** [word, value] overwritten at the end. */
  readonly edits: readonly (readonly [number, number])[];
}

const mostly = <T>(value: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ arbitrary: fc.constant(value), weight: 8 }, { arbitrary: other, weight: 1 });
const offset = fc.oneof(
  { arbitrary: fc.nat({ max: 4096 }), weight: 6 },
  { arbitrary: fc.constantFrom(4095, 4096, 2 ** 31, 2 ** 32 - 1, 2 ** 52), weight: 1 },
);
const bytes = fc.oneof(
  { arbitrary: fc.integer({ min: 1, max: 600 }), weight: 8 },
  { arbitrary: fc.constantFrom(0, 4096, 4097, 0xffffffff), weight: 1 },
);
const word = fc.oneof(fc.nat({ max: 9 }), fc.nat({ max: 0xffffffff }));

export const frameIdea: fc.Arbitrary<FrameIdea> = fc.record({
  kind: mostly(frame.FRAME_WRITE, fc.nat({ max: frame.FRAME_KIND_MAX + 2 })).chain((kind) =>
    fc.oneof(fc.constant(kind), fc.integer({ min: 1, max: frame.FRAME_KIND_MAX })),
  ),
  region: fc.nat({ max: 5 }),
  isOldGeneration: mostly(false, fc.constant(true)),
  keyBit: mostly(-1, fc.nat({ max: 127 })),
  sequenceOff: mostly(0, fc.integer({ min: -3, max: 3 })),
  acknowledgedOff: mostly<number | 'all'>(
    0,
    fc.oneof(fc.nat({ max: 5 }), fc.nat({ max: 0xffffffff }), fc.constant('all' as const)),
  ),
  bytes,
  offset,
  table: mostly<readonly (readonly [number, number])[]>(
    [],
    fc.array(fc.tuple(offset, bytes), { maxLength: 5 }),
  ),
  payload: mostly<FrameIdea['payload']>('whole', fc.constantFrom('short', 'none')),
  checks: mostly<FrameIdea['checks']>(
    'right',
    fc.constantFrom('payload wrong', 'table wrong', 'head wrong'),
  ),
  edits: mostly<readonly (readonly [number, number])[]>(
    [],
    fc.array(fc.tuple(fc.nat({ max: 19 }), word), { maxLength: 3 }),
  ),
});

/** What the frame has to fit to. */
export interface Victim {
  readonly regions: readonly Region[];
  /** Whether frames carry checks; else they are left out. */
  readonly isChecked: boolean;
  sequenceOf(kind: number): number;
  acknowledged(): number;
  framed(): number;
}

export function buildFrame(idea: FrameIdea, victim: Victim): Uint8Array {
  const words = new Uint32Array(frame.DATA_HEAD_BYTES / 4 + idea.table.length * 4);
  const total = idea.table.length === 0 ? idea.bytes : sumOf(idea.table);
  const carries = PAYLOAD_KINDS.includes(idea.kind);
  words[frame.WORD_KIND] = idea.kind | (idea.table.length << frame.TABLE_ENTRIES_SHIFT);
  words[frame.WORD_PAYLOAD_BYTES] = carries ? total : 0;
  words[frame.WORD_ACK] =
    idea.acknowledgedOff === 'all' ? victim.framed() : victim.acknowledged() + idea.acknowledgedOff;
  words[frame.WORD_SEQUENCE] = victim.sequenceOf(idea.kind) + idea.sequenceOff;
  words[frame.WORD_TRANSFER_HIGH] = idea.kind === frame.FRAME_REFUSE ? frame.FRAME_WRITE : 1;
  words[frame.WORD_TRANSFER_LOW] = 1 + (idea.offset % 5);
  words[frame.WORD_OPERATION_BYTES] = total;
  writeOffset(words, frame.WORD_OFFSET_LOW, idea.offset);
  writeRegion(words, idea, victim.regions[idea.region]);
  for (const [index, [entryOffset, entryBytes]] of idea.table.entries()) {
    const at = frame.DATA_HEAD_BYTES / 4 + index * 4;
    writeOffset(words, at, entryOffset);
    words[at + 2] = entryBytes;
  }
  const payloadBytes = carries && idea.payload !== 'none' ? Math.min(total, 70_000) : 0;
  const payload = new Uint8Array(idea.payload === 'short' ? payloadBytes >> 1 : payloadBytes);
  payload.fill(0xee);
  if (victim.isChecked && carries) words[frame.WORD_OPERATION_BYTES] = crc32(payload);
  if (idea.checks === 'payload wrong') words[frame.WORD_OPERATION_BYTES] ^= 1;
  for (const [at, value] of idea.edits) words[at] = value;
  if (victim.isChecked) seal(words, idea);
  return Buffer.concat([Buffer.from(words.buffer), payload]);
}

// A hostile peer counts right, or it would get no further than that.
function seal(words: Uint32Array, idea: FrameIdea): void {
  const table = words.subarray(frame.DATA_HEAD_BYTES / 4);
  if (table.length > 0) {
    const sum = crc32(new Uint8Array(words.buffer, table.byteOffset, table.byteLength));
    words[frame.WORD_OFFSET_LOW] = idea.checks === 'table wrong' ? ~sum : sum;
    words[frame.WORD_OFFSET_HIGH] = 0;
  }
  const sum = headCheck(words, 0);
  words[frame.WORD_HEAD_CHECK] = idea.checks === 'head wrong' ? ~sum : sum;
}

const PAYLOAD_KINDS: readonly number[] = [
  frame.FRAME_WRITE,
  frame.FRAME_READ_DATA,
  frame.FRAME_NOTIFY,
  frame.FRAME_SIGNAL,
];

function writeRegion(words: Uint32Array, idea: FrameIdea, region: Region | undefined): void {
  const { slot, generation, key } = region?.descriptor ?? {
    slot: 0xfffffff0,
    generation: 1,
    key: '0'.repeat(32),
  };
  words[frame.WORD_REGION_SLOT] = slot;
  words[frame.WORD_REGION_GENERATION] = generation - (idea.isOldGeneration ? 1 : 0);
  const keyBytes = Buffer.from(key, 'hex');
  for (let index = 0; index < 4; index++) {
    words[frame.WORD_KEY + index] = keyBytes.readUInt32LE(index * 4);
  }
  if (idea.keyBit < 0) return;
  const at = frame.WORD_KEY + (idea.keyBit >> 5);
  words[at] = (words[at] ?? 0) ^ (1 << (idea.keyBit & 31));
}

function writeOffset(words: Uint32Array, at: number, value: number): void {
  words[at] = value;
  words[at + 1] = value / 2 ** 32;
}

function sumOf(table: readonly (readonly [number, number])[]): number {
  return table.reduce((sum, [, entryBytes]) => sum + entryBytes, 0);
}
