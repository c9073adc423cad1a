// One batch of every fuzz target, and proof that the runner notices a failure and replays it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fuzzTarget, runBatch } from '../../test/support/fuzz-target.js';
import { runCampaign } from './campaign.js';
import { findTargets } from './find-targets.js';

/** Every day the same: what is new is looked for by `npm run fuzz`. */
const SEED = 20_261;

let closes = 0;
const canary = fuzzTarget(
  'canary: no byte is 77',
  {
    runs: 500,
    close: () => {
      closes++;
      return Promise.resolve();
    },
  },
  fc.uint8Array({ maxLength: 20 }),
  (bytes) => assert.ok(!bytes.includes(77)),
);

test('fuzz: a property that does not hold is told by seed, and fails again from it', async () => {
  const options = { targets: [canary], seconds: 5, seed: SEED, onBatch: () => undefined };
  const { failure } = await runCampaign(options);
  assert.ok(failure !== undefined, 'the canary sings');
  assert.equal(failure.target, canary.name);
  const again = await runBatch(canary, failure.seed);
  assert.equal(again?.input, failure.input);
  assert.match(failure.input, /77/);
  assert.ok(closes >= 2, 'what a batch holds open is closed after a failure too');
});

for (const target of await findTargets()) {
  test(`fuzz: ${target.name}`, async () => {
    const failure = await runBatch(target, SEED);
    assert.equal(failure, undefined, `${failure?.input ?? ''}\n${failure?.reason ?? ''}`);
  });
}
