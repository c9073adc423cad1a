// The table of a sweep says what its figures are of.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SweepRun } from '../bench/sweep.js';
import { formatProfile, formatSweep, sweepEvidence } from './bench-sweep-text.js';

const OUTCOME = {
  ...{ size: '65536', medianRate: 1.5, latencyP50Us: 40, points: 1, finalists: 1 },
  best: { key: '', settings: { 'flow.channels': '2' } },
  margin: undefined,
};

function run(evidence: SweepRun['evidence']): SweepRun {
  const wireBytes = { acknowledged: 1, received: 1 };
  return { rates: [1.5], latencyP50Us: 40, bytes: 1, wireBytes, evidence };
}

test('sweep: figures of the emulator are said to be emulated, in the profile too', () => {
  const measured = { a: [run('measured')] };
  assert.doesNotMatch(formatSweep([OUTCOME], measured), /emulated/);
  const mixed = { ...measured, b: [run('measured'), run('emulated')] };
  assert.match(formatSweep([OUTCOME], mixed), /^evidence {2}emulated: the plugin is an emulator/m);
  const profile = formatProfile(OUTCOME, sweepEvidence(mixed));
  assert.match(profile, /^# tcpx bench sweep: 1\.50 GB\/s at 64 KiB, alone, emulated\n/);
});
