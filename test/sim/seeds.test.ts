// The first thousand seeds of the simulation. More: `npm run sim -- --seeds N`.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replayCommand, runSeeds, seedRange } from '../../src/testing/sim/run-seeds.js';

const SEEDS = 1000;
const PER_TEST = 250;

for (let from = 1; from <= SEEDS; from += PER_TEST) {
  test(`simulation: seeds ${from} to ${from + PER_TEST - 1} hold every promise`, async () => {
    const { failures, figures } = await runSeeds(seedRange(from, PER_TEST));
    const lines = failures.map(({ seed, reason }) => `${reason}\n  ${replayCommand(seed)}`);
    assert.equal(lines.join('\n'), '');
    // Otherwise it would have tested nothing.
    assert.ok(figures.done > PER_TEST, `${figures.done} transfers done`);
    assert.ok(figures.failovers > PER_TEST / 10, `${figures.failovers} channels given up`);
  });
}
