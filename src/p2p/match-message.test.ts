import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { withCode } from '../../test/support/expect-error.js';
import { isTcpxError } from '../base/errors.js';
import {
  decodeMatch,
  encodeLanded,
  encodeOffer,
  encodeRefuse,
  MatchKind,
  MISFITS,
} from './match-message.js';
import { MatchQueue } from './match-queue.js';

const offer = (number: number) => {
  const target = {
    slot: 3,
    generation: 9,
    bytes: 2 ** 40,
    key: '00112233445566778899aabbccddeeff',
  };
  return { number, tag: 7, target };
};

test('match message: every kind comes back as it was', () => {
  assert.deepEqual(decodeMatch(encodeOffer(offer(5))), { kind: MatchKind.Offer, ...offer(5) });
  const landed = { kind: MatchKind.Landed, number: 6, bytes: 123 };
  assert.deepEqual(decodeMatch(encodeLanded(6, 1, 123)), landed);
  for (const misfit of MISFITS) {
    const refuse = { kind: MatchKind.Refuse, number: 8, misfit };
    assert.deepEqual(decodeMatch(encodeRefuse(8, 1, misfit)), refuse);
  }
});

test('match message: random bytes are refused with a typed error or give bounded values', () => {
  const start = fc.constantFrom([], [1, 1, 0, 0], [1, 2, 0, 0], [1, 3, 0, 0]);
  const bytes = fc.tuple(start, fc.uint8Array({ maxLength: 60 }));
  fc.assert(
    fc.property(bytes, ([first, rest]) => {
      try {
        const message = decodeMatch(Uint8Array.from([...first, ...rest]));
        if (message.kind === MatchKind.Offer) assert.ok(message.target.bytes > 0);
      } catch (error) {
        assert.ok(isTcpxError(error, 'ERR_WIRE_FRAME'), String(error));
      }
    }),
    { numRuns: 2000 },
  );
});

test('match queue: a receive offered twice or answered without waiting breaks a rule', () => {
  const queue = new MatchQueue(2);
  queue.addOffer(offer(1));
  const isBroken = (error: unknown) => isTcpxError(error, 'ERR_WIRE_STATE');
  assert.throws(() => queue.addOffer(offer(1)), isBroken);
  assert.throws(() => queue.addOffer(offer(0)), isBroken);
  assert.throws(() => queue.takeReceive(1), isBroken);
  queue.addOffer(offer(2));
  assert.throws(() => queue.addOffer(offer(3)), withCode('ERR_WIRE_STATE', /session\.offersMax/));
});
