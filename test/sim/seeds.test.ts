// The first seeds of the simulation. More: `npm run sim -- --seeds N`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runChild } from '../e2e/child.js';
import type { RunFigures } from '../support/sim/run-seed.js';

const SEEDS = 400;

// In processes of their own: a test runner watches every promise, and a run is made of them.
test(`simulation: seeds 1 to ${SEEDS} hold every promise`, async () => {
  const words = ['dist/scripts/sim.js', '--seeds', String(SEEDS)];
  const { exitCode, stdout, stderr } = await runChild(process.execPath, words);
  assert.equal(exitCode, 0, `${stdout}${stderr}`);
  const [count, json] =
    /^(\d+) seeds from 1, 0 failures, .*? (\{.*\})$/m.exec(stdout)?.slice(1) ?? [];
  assert.equal(Number(count), SEEDS, stdout);
  // Otherwise it would have tested nothing.
  const { done, matched, failovers } = JSON.parse(json ?? '{}') as RunFigures;
  assert.ok(done > SEEDS, `${done} transfers done`);
  assert.ok(matched > SEEDS, `${matched} transfers done through plugins`);
  assert.ok(failovers > SEEDS / 10, `${failovers} channels given up`);
});

const ONCE_BROKEN = [
  2271, // A client that resets while it is being accepted: its session stayed for ever.
  2175, // A refused write over a dead plugin connection: its regions were never let go.
  6941, // A reset right behind ATTACHED: a lane was given a closed descriptor.
  16954, // Cancelled, then past its deadline, and the peer had not confirmed: its bytes came later.
  19595, // A set-up that failed ended transfers of the epoch before, whose fence did not stand yet.
  7783, // A second cancel on an epoch that is going down: it ended before the fence.
];

for (const seed of ONCE_BROKEN) {
  test(`simulation: seed ${seed}, which found a fault once, is good`, async () => {
    const words = ['dist/scripts/sim.js', '--seed', String(seed)];
    const { exitCode, stdout } = await runChild(process.execPath, words);
    assert.equal(exitCode, 0, stdout.slice(-2000));
  });
}
