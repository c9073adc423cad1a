// Which policy a plan has when none is named: a table of cases for the rule, then the A3-high host.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighSpec } from '../../../test/support/a3-high-host.js';
import { readFixtureHost } from '../../../test/support/fixture-host.js';
import type { HostSpec, IrqSpec } from '../../../test/support/host-spec.js';
import { buildHostTree } from '../../../test/support/host-tree.js';
import { coreMapOf } from './core-map.js';
import type { PlanLoad } from './load-placement.js';
import { buildPlan, type IrqPlan } from './plan.js';
import type { PolicyName, PolicyRequest } from './policy.js';
import { choosePolicy, defaultPlan } from './policy-choice.js';
import { loadSinceBoot } from './since-boot.js';

type Figures = readonly [now: number, planned: number, totalNow?: number, totalPlanned?: number];

function load([now, planned, totalNow = now, totalPlanned = planned]: Figures): PlanLoad {
  return {
    ...{ source: 'run', seconds: 20, cpus: [], unknownIrqs: [] },
    ...{ busiestNow: now, busiestPlanned: planned },
    ...{ busiestTotalNow: totalNow, busiestTotalPlanned: totalPlanned },
  };
}

function candidate(policy: PolicyName, figures: Figures | undefined) {
  return figures === undefined ? { policy } : { policy, load: load(figures) };
}

const CASES: readonly {
  readonly name: string;
  readonly plans: readonly ReturnType<typeof candidate>[];
  readonly policy: PolicyName;
  readonly says: RegExp;
}[] = [
  {
    name: 'no counts: the preferred one',
    plans: [candidate('split', undefined), candidate('physical', undefined)],
    policy: 'split',
    says: /too few interrupts/,
  },
  {
    name: 'the preferred one lowers the maximum: it stays, though another lowers it further',
    plans: [candidate('split', [100, 90]), candidate('physical', [100, 50])],
    policy: 'split',
    says: /split 90 interrupts instead of 100$/,
  },
  {
    name: 'equal is not worse',
    plans: [candidate('split', [100, 100]), candidate('physical', [100, 50])],
    policy: 'split',
    says: /split 100 interrupts instead of 100$/,
  },
  {
    name: 'the preferred one raises it: the next that does not, with both figures',
    plans: [
      candidate('split', [100, 150]),
      candidate('physical', [100, 95]),
      candidate('numa-local', [100, 60]),
    ],
    policy: 'physical',
    says: /physical 95 interrupts instead of 100; split 150 interrupts instead of 100$/,
  },
  {
    name: 'with other devices’ lines on the same CPU it rises: passed over as well',
    plans: [candidate('split', [100, 90, 100, 900]), candidate('physical', [100, 95])],
    policy: 'physical',
    says: /split 900 interrupts instead of 100$/,
  },
  {
    name: 'all raise it: the least, and what the others would have done',
    plans: [
      candidate('split', [100, 150]),
      candidate('physical', [100, 120]),
      candidate('numa-local', [100, 130]),
    ],
    policy: 'physical',
    says: /physical 120 .*; split 150 .*; numa-local 130 /,
  },
];

for (const { name, plans, policy, says } of CASES) {
  test(`default policy: ${name}`, () => {
    const chosen = choosePolicy(plans);
    assert.equal(chosen.policy, policy);
    assert.match(chosen.reason, says);
  });
}

/** Counts as after a few runs; lines are on the CPUs that they have from boot. */
function countedSpec(ofLine: (nic: string, irq: IrqSpec) => number): HostSpec {
  const spec = a3HighSpec();
  return {
    ...spec,
    nics: spec.nics.map((nic) => ({
      ...nic,
      // The last one is the driver's own and carries no packets.
      vectors: nic.vectors.map((irq, index) => ({
        ...irq,
        counts: { [Number(irq.effective)]: index < BLOCKS ? ofLine(nic.name, irq) : 0 },
      })),
    })),
  };
}

const BLOCKS = 32;

function planOf(spec: HostSpec): IrqPlan {
  const host = readFixtureHost(buildHostTree(spec));
  const counted = loadSinceBoot(host.irqs);
  const request: PolicyRequest = {
    nics: host.nics.filter(({ name }) => name !== 'eth0'),
    cores: coreMapOf(host),
    application: undefined,
    ...{ txBindings: [], rxBindings: [], adjustCores: 0, manualCores: [], channels: 2 },
    ...(counted === undefined ? {} : { counted }),
  };
  return defaultPlan(request, host);
}

test('default policy: on A3-high with every queue in use the busiest CPU does not get more', () => {
  const plan = planOf(countedSpec((_nic, { irq }) => 6_000_000 + (irq % 7) * 100_000));
  assert.ok(plan.load !== undefined);
  assert.equal(plan.policy, 'physical');
  assert.ok(plan.load.busiestPlanned <= plan.load.busiestNow);
  assert.ok(plan.load.busiestTotalPlanned <= plan.load.busiestTotalNow);
  assert.deepEqual(plan.warnings, []);
  assert.match(plan.choice ?? '', /^busiest CPU \(since boot\): physical \d+ .*; split \d+ /);
});

test('default policy: cores that the control NIC keeps busy get no interrupt of data NICs', () => {
  const plan = planOf(countedSpec((nic) => (nic === 'eth0' ? 140_000_000 : 6_000_000)));
  const busy = Array.from({ length: 16 }, (_, index) => index + 1);
  assert.ok(plan.lines.every(({ cpus }) => cpus.every((cpu) => !busy.includes(cpu))));
  assert.deepEqual(plan.warnings, []);
  assert.match(plan.notes.join(), /thread cores 1-16 also take many interrupts/);
});

test('default policy: an idle host gets the preferred one, dealt by rank', () => {
  const plan = planOf(countedSpec(() => 12));
  assert.equal(plan.policy, 'split');
  assert.equal(plan.load, undefined);
  assert.ok(plan.lines.every(({ reason }) => /position \d+ of \d+/.test(reason)));
});

test('since boot: a named policy is measured by the counts, and warned of', () => {
  const host = readFixtureHost(buildHostTree(countedSpec(() => 6_000_000)));
  const counted = loadSinceBoot(host.irqs);
  assert.ok(counted !== undefined);
  const request: PolicyRequest = {
    nics: host.nics.filter(({ name }) => name !== 'eth0'),
    ...{ cores: coreMapOf(host), application: undefined, counted },
    ...{ txBindings: [], rxBindings: [], adjustCores: 0, manualCores: [], channels: 2 },
  };
  const split = buildPlan('split', request, host);
  assert.deepEqual(
    split.warnings.map(({ code }) => code),
    ['busier'],
  );
  assert.equal(split.load?.source, 'since boot');
  const wide = buildPlan('nccl', request, host);
  assert.equal(wide.load, undefined, 'which CPU of a wide mask takes a line is not known');
});

test('since boot: a line’s count stands where the line is now; no count is no load', () => {
  const irq = { irq: 9, countByCpu: { 0: 150_000, 1: 60_000 }, requested: [1], effective: [1] };
  const base = readFixtureHost(buildHostTree(a3HighSpec())).irqs[0];
  assert.ok(base !== undefined);
  const of = (change: object) => loadSinceBoot([{ ...base, ...irq, ...change }])?.interrupts.get(9);
  assert.deepEqual(of({}), new Map([[1, 210_000]]));
  const counted = new Map([
    [0, 150_000],
    [1, 60_000],
  ]);
  assert.deepEqual(of({ requested: [0, 1], effective: undefined }), counted);
  assert.equal(of({ countByCpu: undefined }), undefined);
  assert.equal(of({ countByCpu: { 0: 99_999 } }), undefined, 'chance, not load');
});
