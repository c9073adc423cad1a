import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isTcpxError } from '../base/errors.js';
import { sealOrdered, sealParts, sealWhole, Unsealer } from './notif-envelope.js';

function collector() {
  const seen: Uint8Array[] = [];
  return { seen, unsealer: new Unsealer((message) => seen.push(message)) };
}

const bytes = (length: number, seed: number) =>
  new Uint8Array(length).map((_, index) => index * 31 + seed);
const isBroken = (error: unknown) => isTcpxError(error, 'ERR_WIRE_FRAME');

test('envelope: whole, ordered and long messages come back in any order of their parts', () => {
  const sizes = [0, 1, 65_530, 65_531, 65_532, 65_536, 200_000];
  const messages = sizes.map((size, index) => bytes(size, index));
  const parts = messages.flatMap((message, index) => sealOrdered(message, index + 1));
  for (const part of parts) assert.ok(part.length <= 65_536);
  const { seen, unsealer } = collector();
  for (const part of parts.toReversed()) unsealer.take(part);
  assert.deepEqual(seen, messages);
  unsealer.take(sealWhole(bytes(65_535, 9)));
  for (const part of sealParts(bytes(70_000, 3), 1, false)) unsealer.take(part);
  assert.deepEqual(seen.slice(7), [bytes(65_535, 9), bytes(70_000, 3)]);
});

test('envelope: a number or part that comes twice breaks a rule', () => {
  const { unsealer } = collector();
  unsealer.take(sealOrdered(bytes(1, 0), 1)[0]!);
  assert.throws(() => unsealer.take(sealOrdered(bytes(1, 0), 1)[0]!), isBroken);
  const [part] = sealOrdered(bytes(100_000, 0), 2);
  unsealer.take(part!);
  assert.throws(() => unsealer.take(part!), isBroken);
});

test('envelope: too many messages in parts, or before their turn, are refused', () => {
  const { unsealer } = collector();
  for (let number = 1; number <= 16; number++)
    unsealer.take(sealParts(bytes(70_000, 0), number, false)[0]!);
  assert.throws(() => unsealer.take(sealParts(bytes(70_000, 0), 17, false)[0]!), isBroken);
});

test('envelope: random bytes give a message or a typed refusal', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }), (inputs) => {
      const { unsealer } = collector();
      for (const input of inputs) {
        if (input.length > 0) input[0] = (input[0] ?? 0) % 4;
        try {
          unsealer.take(input);
        } catch (error) {
          assert.ok(isBroken(error), String(error));
        }
      }
    }),
    { numRuns: 2000 },
  );
});

test('envelope: beginnings and early messages are bounded in bytes, not in number alone', () => {
  const long = sealParts(new Uint8Array(16 * 1024 * 1024), 1, true)[0] ?? new Uint8Array(0);
  const { unsealer } = collector();
  const beginning = (number: number) => {
    const part = long.slice();
    new DataView(part.buffer).setUint32(1, number, true);
    unsealer.take(part);
  };
  for (let number = 1; number <= 4; number++) beginning(number);
  assert.throws(() => beginning(5), isBroken);
  const early = collector();
  const message = bytes(64_000, 1);
  const take = (number: number) =>
    sealOrdered(message, number).forEach((one) => early.unsealer.take(one));
  for (let number = 2; number < 1050; number++) take(number);
  assert.throws(() => take(1050), isBroken);
  take(1);
  assert.equal(early.seen.length, 1049, 'what waited is delivered, and counts no more');
  for (let number = 1051; number < 1500; number++) take(number);
});
