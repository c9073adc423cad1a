// Plans that the two ends keep for each other: found again, replaced, and bounded.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../../test/support/expect-error.js';
import { PLAN_SLOTS_MAX } from '../../wire/match-frame.js';
import { decodeMatchPlan, encodeMatchPlan } from '../../wire/match-plan.js';
import { DescribedPlans, derivePlan, KEPT_PLAN_BYTES_MAX, KeptPlans } from './described-plan.js';

const SHAPE = { chunkBytes: 1000, gatherBytes: 0, weights: [1, 1] };
const AGREED = { chunkBytes: 1000, channelCount: 2 };

function body(blocks: number): Uint8Array {
  return encodeMatchPlan({
    ...SHAPE,
    regions: [{ slot: 4, generation: 1, key: new Uint8Array(16) }],
    regionIndexes: new Uint32Array(blocks),
    offsets: Float64Array.from({ length: blocks }, (_, index) => index * 10),
    lengths: new Float64Array(blocks).fill(10),
  });
}

const digestOf = (blocks: number): number =>
  derivePlan(new Float64Array(blocks).fill(10), SHAPE).digest;

test('described plans: one that is known is not described again, the oldest goes first', () => {
  const plans = new DescribedPlans();
  const all = Array.from({ length: PLAN_SLOTS_MAX + 1 }, () => ({}));
  const slots = all.slice(0, PLAN_SLOTS_MAX).map((plan) => plans.take(plan, 10));
  assert.equal(new Set(slots).size, PLAN_SLOTS_MAX);
  assert.equal(plans.find(all[0]!), slots[0], 'used again: not the oldest any more');
  assert.equal(plans.take(all[PLAN_SLOTS_MAX]!, 10), slots[1]);
  assert.equal(plans.find(all[1]!), undefined);
});

test('described plans: their bytes stay under what the peer keeps', () => {
  const plans = new DescribedPlans();
  const large = {};
  plans.take(large, KEPT_PLAN_BYTES_MAX - 5);
  plans.take({}, 6);
  assert.equal(plans.find(large), undefined);
  assert.throws(() => plans.take({}, KEPT_PLAN_BYTES_MAX + 1), withCode('ERR_USAGE_ARGUMENT'));
});

test('kept plans: places, ends and chunks come from the body; a lie is refused', () => {
  const plans = new KeptPlans();
  plans.keep(3, body(5), digestOf(5), AGREED);
  const kept = plans.get(3);
  assert.deepEqual(kept.places[4], { region: 4, offset: 40 });
  assert.deepEqual([...kept.ends], [50]);
  assert.equal(kept.plan.totalBytes, 50);
  assert.throws(() => plans.keep(3, body(5), digestOf(5) + 1, AGREED), withCode('ERR_WIRE_STATE'));
  assert.throws(() => plans.get(3), withCode('ERR_WIRE_STATE'), 'replaced by nothing');
  assert.throws(
    () => plans.keep(3, body(5), digestOf(5), { ...AGREED, chunkBytes: 999 }),
    withCode('ERR_WIRE_STATE'),
  );
});

test('kept plans: chunks on channels that are not joined are refused', () => {
  for (const channelCount of [1, 3, 16]) {
    const attempt = () =>
      new KeptPlans().keep(0, body(5), digestOf(5), { ...AGREED, channelCount });
    assert.throws(attempt, withCode('ERR_WIRE_STATE'), `${channelCount} joined`);
  }
});

test('kept plans: a peer cannot make us keep more than the limit', () => {
  const plans = new KeptPlans();
  const blocks = 200_000;
  const large = body(blocks);
  const digest = digestOf(blocks);
  const fitting = Math.floor(KEPT_PLAN_BYTES_MAX / large.length);
  for (let slot = 0; slot < fitting; slot++) plans.keep(slot, large, digest, AGREED);
  plans.keep(0, large, digest, AGREED);
  const attempt = () => plans.keep(fitting, large, digest, AGREED);
  assert.throws(attempt, withCode('ERR_WIRE_LIMIT'));
});

test("kept plans: weights or sizes that no plan can have are the peer's fault", () => {
  const refused = withCode('ERR_WIRE_FRAME');
  const bad = [{ weights: [0, 0] }, { weights: [1, 1001] }, { gatherBytes: 1001 }];
  for (const change of bad) {
    const blocks = decodeMatchPlan(body(2));
    const attempt = () =>
      new KeptPlans().keep(0, encodeMatchPlan({ ...blocks, ...change }), 0, AGREED);
    assert.throws(attempt, refused);
  }
});
