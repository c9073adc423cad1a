// Every micro benchmark runs: a look that they still work, not a measurement.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MicroFigure } from '../support/micro-bench.js';
import { runChild } from './child.js';

const SCRIPT = 'dist/scripts/bench-micro.js';
const QUICK = ['--rounds', '2', '--scale', '0.001'];

test('bench:micro: every unit has figures, in one document', async () => {
  const run = await runChild(process.execPath, [SCRIPT, '--json', ...QUICK]);
  assert.equal(run.exitCode, 0, run.stderr);
  const { schema, figures } = JSON.parse(run.stdout) as {
    schema: string;
    figures: readonly MicroFigure[];
  };
  assert.equal(schema, 'tcpx.bench-micro/1');
  const units = new Set(figures.map((figure) => figure.name.split(':')[0]));
  assert.deepEqual([...units], ['ffi', 'lane', 'plan', 'ring', 'scheduler', 'wire']);
  for (const { name, nsPerOperation, rounds } of figures) {
    assert.equal(rounds, 2);
    assert.ok(nsPerOperation.min > 0 && nsPerOperation.p50 <= nsPerOperation.max, name);
  }
});

test('bench:micro: names choose, an unknown one is an error', async () => {
  const chosen = await runChild(process.execPath, [SCRIPT, ...QUICK, 'check one head', 'claim and confirm']);
  assert.equal(chosen.exitCode, 0, chosen.stderr);
  assert.equal(chosen.stdout.trimEnd().split('\n').length, 5, chosen.stdout);
  const unknown = await runChild(process.execPath, [SCRIPT, ...QUICK, 'frobnicate']);
  assert.equal(unknown.exitCode, 2);
  assert.match(unknown.stderr, /frobnicate/);
});
