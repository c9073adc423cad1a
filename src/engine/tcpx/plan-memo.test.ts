import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { planDigest, planMatched } from '../../flow/matched-plan.js';
import { PlanMemo, type PlanShape } from './plan-memo.js';

const shapes = fc.record<PlanShape>({
  lengths: fc.array(fc.constantFrom(0, 1, 4096, 10_000), { maxLength: 80 }),
  chunkBytes: fc.constantFrom(4096, 8192),
  weights: fc.array(fc.constantFrom(1, 2), { minLength: 1, maxLength: 2 }),
  gatherBytes: fc.constantFrom(0, 4096),
});

test('plan memo: gives what planning gives, whatever was planned before', () => {
  fc.assert(
    fc.property(fc.array(shapes, { maxLength: 8 }), (list) => {
      const memo = new PlanMemo();
      for (const shape of list.flatMap((one) => [one, one])) {
        const { lengths, chunkBytes, weights, gatherBytes } = shape;
        const plan = planMatched(lengths, chunkBytes, weights, gatherBytes);
        assert.deepEqual(memo.plan(shape), { plan, digest: planDigest(plan) });
      }
    }),
    { numRuns: 50 },
  );
});

test('plan memo: a shape that is changed afterwards is not taken for the old one', () => {
  const memo = new PlanMemo();
  const lengths = [4096];
  const shape = { lengths, chunkBytes: 4096, weights: [1], gatherBytes: 0 };
  const first = memo.plan(shape);
  assert.equal(memo.plan({ ...shape, lengths: [4096] }), first, 'the same again');
  lengths[0] = 8192;
  assert.equal(memo.plan(shape).plan.totalBytes, 8192);
});
