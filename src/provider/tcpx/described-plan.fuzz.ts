// Match frames as a hostile peer streams them, in pieces of any size, and the plans in them: what
// is kept is bounded and derived by our own rules, anything else is a wire error.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decodesOrRefuses, fuzzTarget } from '../../../test/support/fuzz-target.js';
import { mutatedBytes } from '../../../test/support/mutated-bytes.js';
import { isTcpxError } from '../../base/errors.js';
import { encodeMatch, type MatchFrame, MatchKind } from '../../wire/match-frame.js';
import { decodeMatchPlan, encodeMatchPlan, type PlannedBlocks } from '../../wire/match-plan.js';
import { derivePlan, KeptPlans } from './described-plan.js';
import { FrameAssembly } from './frame-assembly.js';

const CHUNK_BYTES = 4096;

const odd = (usual: fc.Arbitrary<number>): fc.Arbitrary<number> =>
  fc.oneof(
    { arbitrary: usual, weight: 8 },
    { arbitrary: fc.constantFrom(0, 1, 0xffff, 0xffffffff, 2 ** 52, 2 ** 53 - 1), weight: 1 },
  );

const planned: fc.Arbitrary<PlannedBlocks> = fc
  .record({
    gatherBytes: odd(fc.nat({ max: CHUNK_BYTES })),
    weights: fc.array(odd(fc.nat({ max: 1000 })), { minLength: 1, maxLength: 4 }),
    blocks: fc.array(
      fc.tuple(
        fc.nat({ max: 1 }),
        odd(fc.nat({ max: 100_000 })),
        odd(fc.integer({ min: 1, max: 20_000 })),
      ),
      { minLength: 1, maxLength: 30 },
    ),
  })
  .map(({ gatherBytes, weights, blocks }) => ({
    chunkBytes: CHUNK_BYTES,
    gatherBytes,
    weights,
    regions: [3, 4].map((slot) => ({ slot, generation: 1, key: new Uint8Array(16) })),
    regionIndexes: Uint32Array.from(blocks, ([region]) => region),
    offsets: Float64Array.from(blocks, ([, offset]) => offset),
    lengths: Float64Array.from(blocks, ([, , bytes]) => bytes),
  }));

/** The digest that an honest end derives, where there is one; a hostile one knows it too. */
function digestOf(body: Uint8Array): number {
  try {
    const blocks = decodeMatchPlan(body);
    return derivePlan(blocks.lengths, blocks).digest;
  } catch (error) {
    if (isTcpxError(error)) return 0;
    throw error;
  }
}

const frames = [
  encodeMatch({ kind: MatchKind.Joined }),
  encodeMatch({ kind: MatchKind.Announce, tag: 1 }, new Uint8Array(30)),
  encodeMatch({ kind: MatchKind.Read, plan: 2 }),
];

export const FUZZ_TARGETS = [
  fuzzTarget(
    'kept plans: chunks that cover every block once, or a wire error',
    { runs: 2000 },
    fc.tuple(planned, fc.nat({ max: 70 })),
    ([plan, slot]) => {
      const kept = new KeptPlans();
      const body = encodeMatchPlan(plan);
      const keep = (): true => {
        const agreed = { chunkBytes: CHUNK_BYTES, channelCount: plan.weights.length };
        kept.keep(slot, body, digestOf(body), agreed);
        return true;
      };
      if (decodesOrRefuses(keep, undefined, /^ERR_WIRE_/) === undefined) return;
      const { plan: derived, ends } = kept.get(slot);
      const wanted = plan.lengths.reduce((sum, bytes) => sum + bytes, 0);
      assert.equal(derived.totalBytes, wanted);
      assert.ok(derived.bytes.every((bytes) => bytes >= 1 && bytes <= CHUNK_BYTES));
      for (const [index, region] of plan.regionIndexes.entries()) {
        const [end, offset, bytes] = [ends[region], plan.offsets[index], plan.lengths[index]];
        assert.ok(end !== undefined && offset !== undefined && bytes !== undefined);
        assert.ok(end >= offset + bytes);
      }
    },
  ),
  fuzzTarget(
    'match stream: the same frames or the same error, however the bytes are cut',
    { runs: 1500 },
    fc.tuple(mutatedBytes(frames), mutatedBytes(frames), fc.array(fc.integer({ min: 1, max: 50 }))),
    ([one, other, cuts]) => {
      const bytes = Uint8Array.from(Buffer.concat([one, other]));
      assert.deepEqual(assemble(bytes, cuts), assemble(bytes, []));
    },
  ),
];

function assemble(bytes: Uint8Array, cuts: readonly number[]): readonly string[] {
  const seen: string[] = [];
  const assembly = new FrameAssembly();
  const onFrame = ({ body, ...head }: MatchFrame): boolean =>
    seen.push(JSON.stringify([head, [...body]])) > 0;
  let at = 0;
  try {
    for (let turn = 0; at < bytes.length; turn++) {
      const end = at + (cuts[turn] ?? bytes.length);
      assembly.take(bytes.slice(at, end), onFrame);
      at = end;
    }
  } catch (error) {
    if (!isTcpxError(error) || !error.code.startsWith('ERR_WIRE_')) throw error;
    seen.push(error.message);
  }
  return seen;
}
