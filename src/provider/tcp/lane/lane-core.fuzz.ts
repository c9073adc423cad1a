// A lane against a peer that sends anything in any order, in pieces of any size, while the lane has
// transfers of its own under way: no byte lands outside of what is granted, a broken rule ends the
// channel once, nothing is done that was not sent, and everything is let go.

import fc from 'fast-check';
import { fuzzTarget } from '../../../../test/support/fuzz-target.js';
import { buildFrame, type FrameIdea, frameIdea } from '../../../../test/support/hostile-frames.js';
import { type FenceClaim, LaneVictim } from '../../../../test/support/lane-victim.js';

type Action =
  | { readonly act: 'frame'; readonly idea: FrameIdea; readonly steps: number }
  | { readonly act: 'bytes'; readonly bytes: Uint8Array }
  | { readonly act: 'take'; readonly count: number }
  | { readonly act: 'post'; readonly operation: 'write' | 'read' | 'notify' };

const frameAction = fc.record({
  act: fc.constant('frame' as const),
  idea: frameIdea,
  steps: fc.integer({ min: 0, max: 4 }),
});
const action: fc.Arbitrary<Action> = fc.oneof(
  { arbitrary: frameAction, weight: 12 },
  {
    arbitrary: fc.record({
      act: fc.constant('bytes' as const),
      bytes: fc.uint8Array({ maxLength: 100 }),
    }),
    weight: 1,
  },
  {
    arbitrary: fc.record({ act: fc.constant('take' as const), count: fc.nat({ max: 100_000 }) }),
    weight: 3,
  },
  {
    arbitrary: fc.record({
      act: fc.constant('post' as const),
      operation: fc.constantFrom('write' as const, 'read', 'notify'),
    }),
    weight: 3,
  },
);

const fenceClaim: fc.Arbitrary<FenceClaim> = fc.record({
  landedOff: fc.oneof(fc.constant('all' as const), fc.nat({ max: 6 }), fc.integer()),
  refusals: fc.array(fc.tuple(fc.integer({ min: -1, max: 6 }), fc.integer({ min: 1, max: 5 })), {
    maxLength: 3,
  }),
});

function play(victim: LaneVictim, actions: readonly Action[]): void {
  for (const one of actions) {
    switch (one.act) {
      case 'frame':
        victim.inject(buildFrame(one.idea, victim));
        victim.step(one.steps);
        break;
      case 'bytes':
        victim.inject(one.bytes);
        break;
      case 'take':
        victim.take(one.count);
        victim.step(1);
        break;
      case 'post':
        victim.post(one.operation);
        victim.step(1);
        break;
    }
  }
}

export const FUZZ_TARGETS = [
  fuzzTarget(
    'lane: nothing lands, leaks or ends early, whatever the peer sends',
    { runs: 150 },
    fc.record({
      actions: fc.array(action, { maxLength: 30 }),
      callBytesMax: fc.constantFrom(7, 64, 1000, 1_000_000),
      isReset: fc.boolean(),
      isChecked: fc.boolean(),
      claim: fc.option(fenceClaim, { nil: undefined }),
    }),
    ({ actions, callBytesMax, isReset, isChecked, claim }) => {
      const victim = new LaneVictim(callBytesMax, isChecked);
      try {
        play(victim, actions);
        victim.finish(isReset, claim);
      } finally {
        victim.destroy();
      }
    },
  ),
];
