// Two benchmarks held against each other: which figure decides, and what else differs.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { benchResult } from '../../test/support/bench-result.js';
import { withCode } from '../../test/support/expect-error.js';
import type { BenchResult } from './bench-result.js';
import { compareRuns } from './runs-comparison.js';

function run(fields: Partial<BenchResult> & { centre?: number } = {}): BenchResult {
  const { centre = 5, ...rest } = fields;
  return benchResult(centre, rest);
}

describe('compareRuns', () => {
  test('a run with itself is the same; a tenth less is slower', () => {
    assert.equal(compareRuns([run()], [run()], 0.05).speed.verdict, 'same');
    const { speed, metric } = compareRuns([run()], [run({ centre: 4.5 })], 0.05);
    assert.equal(speed.verdict, 'slower');
    assert.equal(metric, 'bandwidth of iterations');
  });

  test('of a ping-pong the half round trips decide, and longer ones are slower', () => {
    const pingpong = (centre: number) => run({ op: 'pingpong', centre });
    const { speed, metric } = compareRuns([pingpong(5)], [pingpong(4)], 0.05);
    assert.equal(metric, 'half round trips');
    assert.equal(speed.verdict, 'slower');
  });

  test('what differs beside the figures is named; defaults that moved too', () => {
    const other = run({ config: { 'flow.channels': 4 }, sizeBytes: 128 });
    const { differences, notes } = compareRuns([run()], [other], 0.05);
    assert.deepEqual(notes, ['not the same work: sizeBytes differ']);
    assert.deepEqual(differences, [
      { name: 'sizeBytes', first: '67108864', second: '128' },
      { name: 'flow.channels', first: '1', second: '4' },
    ]);
  });

  test('another machine, one run each, failed runs and another evidence are noted', () => {
    const odd = run({
      centre: 4,
      host: { ...run().host, hostname: 'b' },
      ok: false,
      evidence: 'emulated',
    });
    const { notes } = compareRuns([run()], [odd], 0.05);
    assert.equal(notes.length, 4, notes.join('; '));
  });

  test('three runs each: no word about one run', () => {
    const three = (centre: number) => [run({ centre }), run({ centre }), run({ centre })];
    assert.deepEqual(compareRuns(three(5), three(4.9), 0.05).notes, []);
  });

  test('operations that cannot be compared, and results without samples, are refused', () => {
    assert.throws(
      () => compareRuns([run()], [run({ op: 'pingpong' })], 0.05),
      withCode('ERR_USAGE_ARGUMENT', /pingpong/),
    );
    const { samples, ...bare } = run();
    assert.ok(samples !== undefined);
    assert.throws(
      () => compareRuns([run()], [bare], 0.05),
      withCode('ERR_USAGE_ARGUMENT', /samples/),
    );
  });
});
