import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { planMatched } from '../../flow/matched-plan.js';
import { chunkPlace, DISCARD } from './chunk-places.js';
import { NO_REGION, PIECE_FIELDS } from './host-layout.js';

test('chunk places: every byte of every block, in the order of the message', () => {
  const blocks = fc.array(
    fc.record({ region: fc.nat(2), gap: fc.constantFrom(0, 0, 3), bytes: fc.nat(40) }),
    { minLength: 1, maxLength: 60 },
  );
  fc.assert(
    fc.property(blocks, fc.integer({ min: 1, max: 200 }), (list, chunkBytes) => {
      const ends = [0, 0, 0];
      const places = list.map(({ region, gap, bytes }) => {
        const offset = (ends[region] ?? 0) + gap;
        ends[region] = offset + bytes;
        return { region, offset };
      });
      const plan = planMatched(
        list.map(({ bytes }) => bytes),
        chunkBytes,
        [1],
        Math.min(40, chunkBytes),
      );
      const seen: string[] = [];
      for (let index = 0; index < plan.chunkCount; index++) {
        const { region, offset, pieces } = chunkPlace(plan, index, places);
        const all = pieces ?? Float64Array.of(region, offset, plan.bytes[index] ?? 0);
        assert.ok(pieces === undefined || pieces.length > PIECE_FIELDS, 'one place needs no list');
        for (let row = 0; row < all.length; row += PIECE_FIELDS) {
          for (let byte = 0; byte < (all[row + 2] ?? 0); byte++) {
            seen.push(`${all[row]} ${(all[row + 1] ?? 0) + byte}`);
          }
        }
      }
      const wanted = list.flatMap(({ bytes }, block) => {
        const { region = 0, offset = 0 } = places[block] ?? {};
        return Array.from({ length: bytes }, (_, byte) => `${region} ${offset + byte}`);
      });
      assert.deepEqual(seen, wanted);
    }),
  );
});

test('chunk places: blocks behind each other are one place, refused ones none', () => {
  const plan = planMatched([10, 0, 10, 10], 100, [1], 50);
  const places = [
    { region: 4, offset: 5 },
    { region: 9, offset: 1 },
    { region: 4, offset: 15 },
    { region: 4, offset: 25 },
  ];
  assert.equal(plan.chunkCount, 1);
  assert.deepEqual(chunkPlace(plan, 0, places), { region: 4, offset: 5 });
  const thrown = chunkPlace(
    plan,
    0,
    places.map(() => DISCARD),
  );
  assert.deepEqual(thrown, { region: NO_REGION, offset: 0 });
});
