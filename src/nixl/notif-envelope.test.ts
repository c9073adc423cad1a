import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isTcpxError } from '../base/errors.js';
import { sealOrdered, sealParts, sealWhole, Unsealer } from './notif-envelope.js';

const WAITING_BYTES_MAX = 64 * 1024 * 1024;
const LIMITS = { waitingBytesMax: WAITING_BYTES_MAX, partialsMax: 16, earlyMax: 2000 };

function collector() {
  const seen: Uint8Array[] = [];
  return { seen, unsealer: new Unsealer((message) => seen.push(message), LIMITS) };
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
  const names = (setting: RegExp) => (error: unknown) =>
    isBroken(error) && setting.test(String(error));
  const more = sealParts(bytes(70_000, 0), 17, false)[0]!;
  assert.throws(() => unsealer.take(more), names(/nixl\.partialsMax allows, 16/));
  const early = collector().unsealer;
  for (let number = 2; number < 2002; number++) early.take(sealOrdered(bytes(1, 0), number)[0]!);
  const last = sealOrdered(bytes(1, 0), 2002)[0]!;
  assert.throws(() => early.take(last), names(/nixl\.earlyMax allows, 2000/));
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

test('envelope: a claimed length costs nothing before its bytes are there', () => {
  const long = sealParts(new Uint8Array(16 * 1024 * 1024), 1, true)[0]!;
  const { unsealer } = collector();
  for (let number = 1; number <= 16; number++) {
    const part = long.slice();
    new DataView(part.buffer).setUint32(1, number, true);
    unsealer.take(part);
  }
  assert.ok(unsealer.waitingBytes <= 16 * 65_536 * 1.01, `${unsealer.waitingBytes} bytes held`);
  unsealer.clear();
  assert.equal(unsealer.waitingBytes, 0);
});

test('envelope: beginnings and early messages are bounded in bytes, not in number alone', () => {
  const { unsealer } = collector();
  const isFull = (error: unknown) => isBroken(error) && /inboxPeerBytesMax/.test(String(error));
  const flood = () => {
    for (let number = 1; number <= 16; number++) {
      const parts = sealParts(new Uint8Array(16 * 1024 * 1024), number, false);
      for (const part of parts.slice(1)) unsealer.take(part);
    }
  };
  assert.throws(flood, isFull);
  assert.ok(unsealer.waitingBytes <= WAITING_BYTES_MAX);
  const early = collector();
  const message = bytes(64_000, 1);
  const take = (number: number) =>
    sealOrdered(message, number).forEach((one) => early.unsealer.take(one));
  for (let number = 2; number < 1040; number++) take(number);
  assert.throws(() => {
    for (let number = 1040; number < 1100; number++) take(number);
  }, isFull);
  take(1);
  assert.ok(early.seen.length >= 1039, 'what waited is delivered, and counts no more');
  assert.equal(early.unsealer.waitingBytes, 0);
});
