// Rules over measured figures, with figures made up; and the choice of CPUs to measure.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighTree } from '../../test/support/a3-high-host.js';
import { readFixtureHost } from '../../test/support/fixture-host.js';
import type { CongestionFigure, MachineLimits, Samples } from '../measure/machine-limits.js';
import type { DoctorFacts } from './facts.js';
import { choosePairs } from './measured-pairs.js';
import { coresRule, pacingRule } from './rules/measured.js';

const HOST = readFixtureHost(a3HighTree());

function around(median: number): Samples {
  return { median, min: median * 0.9, max: median * 1.1 };
}

function stream(name: string, rate: number): CongestionFigure {
  return { name, streamGBps: around(rate), rttUs: around(40), reason: undefined };
}

function limits(change: Partial<MachineLimits>): MachineLimits {
  const pair = { tripNs: around(80), wakeUs: around(3), streamGBps: around(3) };
  return {
    machine: { coreToCoreNs: 80, coldCopyGBps: 10, warmCopyGBps: 30 },
    allowedCpus: [0, 1],
    pairs: [
      { place: 'one CPU', first: 0, second: 0, ...pair, tripNs: around(4e6) },
      { place: 'one node', first: 0, second: 1, ...pair },
    ],
    congestion: [stream('cubic', 3), stream('bbr', 1.2)],
    ...change,
  };
}

/** Rules read these fields alone; the rest of the facts is not theirs. */
function facts(measured: MachineLimits | undefined, control: string | undefined, congestion = '') {
  const host = { ...HOST, limits: { ...HOST.limits, congestionControl: control } };
  return { host, measured, congestion } as unknown as DoctorFacts;
}

test('measure.pacing: warns of bbr with the figures, unless the run chooses another', () => {
  const slow = pacingRule.check(facts(limits({}), 'bbr'));
  assert.equal(slow.status, 'warn');
  assert.match(
    slow.evidence.join('\n'),
    /bbr, the host’s default, carries 40 % of the best: its pacing limits/,
  );
  assert.match(slow.evidence.join('\n'), /cubic: 3\.00 \(2\.70 … 3\.30\) GB\/s over loopback/);
  assert.equal(pacingRule.check(facts(limits({}), 'bbr', 'cubic')).status, 'pass');
  assert.equal(pacingRule.check(facts(limits({}), 'cubic')).status, 'pass');
});

test('measure.pacing: noise is no pacing, and what was not measured is not judged', () => {
  const noisy = { ...stream('bbr', 2), streamGBps: { median: 2, min: 1, max: 3.5 } };
  const close = limits({ congestion: [stream('cubic', 3), noisy] });
  assert.equal(pacingRule.check(facts(close, 'bbr')).status, 'pass');
  assert.equal(pacingRule.check(facts(undefined, 'bbr')).status, 'skip');
  assert.equal(pacingRule.check(facts(limits({}), undefined)).status, 'skip');
  const refused = { name: 'bbr', streamGBps: undefined, rttUs: undefined, reason: 'EPERM' };
  const partly = limits({ congestion: [stream('cubic', 3), refused] });
  const verdict = pacingRule.check(facts(partly, 'bbr'));
  assert.equal(verdict.status, 'skip');
  assert.match(verdict.evidence.join(), /EPERM/);
});

test('measure.cores: one CPU, and CPUs that answer in time slices', () => {
  assert.equal(coresRule.check(facts(limits({}), 'cubic')).status, 'pass');
  const [packed] = limits({}).pairs;
  assert.ok(packed !== undefined);
  const one = coresRule.check(facts(limits({ pairs: [packed], allowedCpus: [0] }), 'cubic'));
  assert.equal(one.status, 'warn');
  assert.match(one.evidence.join('\n'), /all threads are packed on it\nCPU 0 \(one CPU\): word 4/);
  const busy = limits({ pairs: [packed, { ...packed, place: 'one node', second: 1 }] });
  assert.match(coresRule.check(facts(busy, 'cubic')).evidence.join(), /CPUs 0 and 1 answer/);
  assert.equal(coresRule.check(facts(undefined, 'cubic')).status, 'skip');
});

test('measured pairs: one for each place; none is claimed that the host does not tell', () => {
  const places = (allowed: readonly number[]) =>
    choosePairs(HOST.cpus, allowed).map(({ place, first, second }) => [place, first, second]);
  assert.deepEqual(places(HOST.cpus.online), [
    ['one CPU', 0, 0],
    ['threads of one core', 0, 104],
    ['one node', 0, 1],
    ['two nodes', 0, 52],
  ]);
  assert.deepEqual(places([3, 107]), [
    ['one CPU', 3, 3],
    ['threads of one core', 3, 107],
  ]);
  const cpus = HOST.cpus.cpus.map((cpu) => ({ ...cpu, node: undefined }));
  const untold = choosePairs({ ...HOST.cpus, cpus }, [0, 1]);
  assert.deepEqual(untold.at(-1), { place: 'unknown', first: 0, second: 1 });
  const empty = choosePairs({ ...HOST.cpus, cpus: [] }, [4, 5]);
  assert.deepEqual(empty.at(-1), { place: 'unknown', first: 4, second: 5 });
});
