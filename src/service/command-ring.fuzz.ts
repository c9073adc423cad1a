// What the service reads of a client: any bytes in the ring and on the socket give commands and
// messages within their bounds, or the rule that was broken; never anything else.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { fuzzTarget } from '../../test/support/fuzz-target.js';
import { isTcpxError } from '../base/errors.js';
import { SERVICE_NOTIFICATION_BYTES_MAX } from '../base/service-layout.js';
import { RING_BLOCK } from '../base/shared-layout.js';
import { CommandRing } from './command-ring.js';
import { decodeAttach, decodePrepare, decodeRegister } from './message-codec.js';
import { MessageStream } from './message-stream.js';

const CAPACITY = 4096;
const MESSAGE_BYTES_MAX = 2048;

const word = fc.oneof(
  fc.integer(),
  fc.integer({ min: 0, max: 64 }),
  fc.constantFrom(0, -1, 8, 16, 24, 32, CAPACITY, CAPACITY - 8, 0x7fffffff),
);
/** Words of the data, the tail that the client claims, and words that it changes in between. */
const ring = fc.record({
  words: fc.array(word, { maxLength: 64 }),
  tails: fc.array(fc.oneof(word, fc.integer({ min: 0, max: CAPACITY })), {
    minLength: 1,
    maxLength: 4,
  }),
  changes: fc.array(fc.tuple(fc.nat({ max: CAPACITY / 4 - 1 }), word), { maxLength: 8 }),
});

interface RingInput {
  readonly words: readonly number[];
  readonly tails: readonly number[];
  readonly changes: readonly (readonly [number, number])[];
}

function readAll({ words, tails, changes }: RingInput): void {
  const buffer = new ArrayBuffer(RING_BLOCK.bytes + CAPACITY);
  const memory = { int32: new Int32Array(buffer), uint8: new Uint8Array(buffer) };
  const reader = new CommandRing(memory, 0, CAPACITY);
  memory.int32.set(words, RING_BLOCK.bytes / 4);
  let taken = 0;
  for (const tail of tails) {
    memory.int32[0] = tail;
    for (let command = reader.take(); command !== undefined; command = reader.take()) {
      // Every record has eight bytes at least: a reader that stands still would go on for ever.
      taken++;
      assert.ok(taken <= (tails.length * CAPACITY) / 8, 'it ends');
      const message = command.kind === 'notify' ? command.message : undefined;
      const text = message ?? (command.kind === 'post' ? command.notify : undefined);
      assert.ok((text?.length ?? 0) <= Math.min(CAPACITY, SERVICE_NOTIFICATION_BYTES_MAX));
      for (const [at, value] of changes) memory.int32[RING_BLOCK.bytes / 4 + at] = value;
    }
  }
}

function allowing(act: () => void): void {
  try {
    act();
  } catch (error) {
    const isRule = isTcpxError(error, 'ERR_WIRE_FRAME') || isTcpxError(error, 'ERR_CAP_QUOTA');
    if (!isRule) throw error;
  }
}

export const FUZZ_TARGETS = [
  fuzzTarget(
    'command ring: commands within bounds, or a broken rule',
    { runs: 4000 },
    ring,
    (input) => allowing(() => readAll(input)),
  ),
  fuzzTarget(
    'client socket: whole messages however they are cut, or a broken rule',
    { runs: 2000 },
    fc.array(fc.array(word, { maxLength: 12 }), { maxLength: 12 }),
    (pieces) =>
      allowing(() => {
        const stream = new MessageStream(MESSAGE_BYTES_MAX);
        let given = 0;
        let taken = 0;
        for (const piece of pieces) {
          const bytes = new Uint8Array(Int32Array.from(piece).buffer);
          stream.push(bytes);
          given += bytes.length;
          for (let message = stream.take(); message !== undefined; message = stream.take()) {
            taken += 16 + message.payload.length;
            assert.ok(taken <= given && message.payload.length <= MESSAGE_BYTES_MAX);
          }
        }
      }),
  ),
  fuzzTarget(
    'client messages: decoded with numbers in range, or refused',
    { runs: 4000 },
    fc.array(word, { maxLength: 48 }),
    (words) => {
      const payload = new Uint8Array(Int32Array.from(words).buffer);
      for (const decode of [decodeAttach, decodeRegister]) allowing(() => void decode(payload));
      allowing(() => {
        const wish = decodePrepare(payload, 4);
        assert.ok(wish.count <= 4 && wish.bytes.every((bytes) => Number.isSafeInteger(bytes)));
      });
    },
  ),
];
