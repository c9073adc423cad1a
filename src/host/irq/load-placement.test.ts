// Placement by the load of a run, on the A3-high fixture: no policy raises the busiest CPU without
// saying so, and wide masks are not taken for spreading.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighTree } from '../../../test/support/a3-high-host.js';
import { readFixtureHost } from '../../../test/support/fixture-host.js';
import { seededRandom } from '../../base/random.js';
import { coreMapOf } from './core-map.js';
import type { ObservedLoad } from './load-placement.js';
import { buildPlan, type IrqPlan } from './plan.js';
import type { PolicyName, PolicyRequest } from './policy.js';

const HOST = readFixtureHost(a3HighTree());
const CORES = coreMapOf(HOST);
const NICS = HOST.nics.filter(({ name }) => name !== 'eth0');

/** A run as the machine has it: four RX queues per NIC carry nearly all, on the CPUs of boot. */
function a3Run(heavy: number, light: number): ObservedLoad {
  const interrupts = new Map<number, ReadonlyMap<number, number>>();
  for (const nic of HOST.nics) {
    for (const { irq, role, queue = 0 } of nic.vectors) {
      const cpu = HOST.irqs.find((line) => line.irq === irq)?.effective?.[0] ?? -1;
      const isHeavy = nic.name !== 'eth0' && role === 'rx' && queue >= 8 && queue < 12;
      const count = role === 'management' ? 0 : isHeavy ? heavy + queue : light + queue;
      interrupts.set(irq, new Map([[cpu, count]]));
    }
  }
  return { source: 'run', seconds: 20, interrupts };
}

function request(): PolicyRequest {
  return {
    nics: NICS,
    cores: CORES,
    application: undefined,
    txBindings: [],
    rxBindings: [],
    adjustCores: 0,
    manualCores: [],
    channels: 2,
  };
}

function plan(policy: PolicyName, observed: ObservedLoad, more: Partial<PolicyRequest> = {}) {
  return buildPlan(policy, { ...request(), observed, ...more }, HOST);
}

function loadOf(document: IrqPlan) {
  assert.ok(document.load !== undefined);
  return document.load;
}

test('load: the busiest CPU of a run with four heavy queues gets less, not more', () => {
  const load = loadOf(plan('numa-local', a3Run(230_000, 40_000)));
  assert.equal(load.busiestNow, 230_011 + 40_011);
  assert.ok(load.busiestPlanned < load.busiestNow, String(load.busiestPlanned));
  assert.ok(load.busiestPlanned >= 230_011, 'one heavy queue cannot be split');
});

test('load: counted per CPU, all devices, before and after; nothing is lost', () => {
  const observed = a3Run(230_000, 40_000);
  const load = loadOf(plan('split', observed));
  const total = (which: 'now' | 'planned') => load.cpus.reduce((sum, cpu) => sum + cpu[which], 0);
  assert.equal(total('now'), total('planned'));
  // eth0 is not planned: its CPUs keep its load, which counts beside.
  assert.ok(load.cpus.every(({ cpu, staying }) => cpu > 16 || staying >= 40_000));
});

test('load: a set too small for the run is planned, and warned of', () => {
  const document = plan('manual', a3Run(230_000, 40_000), { manualCores: [8, 9] });
  assert.deepEqual(
    document.warnings.map(({ code }) => code),
    ['busier'],
  );
  assert.match(document.warnings[0]?.text ?? '', /\(\+\d+ %\)/);
  const wide = plan('numa-local', a3Run(230_000, 40_000));
  assert.deepEqual(wide.warnings, []);
});

for (const policy of ['nccl', 'channels', 'split', 'physical'] as const) {
  test(`load: policy ${policy} uses the run, one CPU of the allowed set per line`, () => {
    const document = plan(policy, a3Run(230_000, 40_000));
    assert.equal(document.lines.length, 128);
    assert.ok(document.lines.every(({ cpus }) => cpus.length === 1));
    assert.ok(document.lines.every(({ reason }) => / by load \(\d+ interrupts\)/.test(reason)));
    for (const { nic, cpus, queue } of document.lines) {
      const own = document.allocations.find((allocation) => allocation.nic === nic);
      const allowed = policy !== 'nccl' ? own?.irq : queue.startsWith('TX') ? own?.tx : own?.rx;
      assert.ok(allowed?.includes(cpus[0] ?? -1) === true, `${nic} ${queue} on ${cpus[0]}`);
    }
  });
}

test('load: two NICs that share a range do not meet on its first cores', () => {
  const document = plan('nccl', a3Run(230_000, 0));
  const heavy = document.lines.filter(({ queue }) => /^RX queue (8|9|10|11)$/.test(queue));
  const node0 = heavy.filter(({ nic }) => nic === 'eth1' || nic === 'eth2');
  assert.equal(new Set(node0.map(({ cpus }) => cpus[0])).size, 8);
});

test('load: a line that the run does not mention is named, not taken for idle in silence', () => {
  const { interrupts, ...rest } = a3Run(10, 10);
  const partial = new Map([...interrupts].filter(([irq]) => irq !== 112));
  const document = plan('split', { ...rest, interrupts: partial });
  assert.deepEqual(loadOf(document).unknownIrqs, [112]);
  assert.ok(document.unknowns.some((text) => /interrupts of IRQ 112/.test(text)));
});

test('load: never worse than twice the best possible, whatever the counts', () => {
  const random = seededRandom(22);
  for (let round = 0; round < 30; round++) {
    const interrupts = new Map<number, ReadonlyMap<number, number>>();
    const vectors = NICS.flatMap((nic) => nic.vectors);
    for (const { irq } of vectors) {
      const count = Math.floor(random.nextFloat() ** 4 * 1e6);
      interrupts.set(irq, new Map([[Math.floor(random.nextFloat() * 208), count]]));
    }
    const manualCores = Array.from(
      { length: 1 + Math.floor(random.nextFloat() * 40) },
      (_, i) => i + 1,
    );
    const document = plan('manual', { source: 'r', seconds: 1, interrupts }, { manualCores });
    const planned = document.lines.map(
      ({ irq }) => [...(interrupts.get(irq)?.values() ?? [])][0] ?? 0,
    );
    const mean = planned.reduce((sum, count) => sum + count, 0) / manualCores.length;
    const bound = Math.max(...planned) + mean;
    assert.ok(loadOf(document).busiestPlanned <= bound, `round ${round}`);
  }
});

test('plan: a wide mask is said to be one CPU of it', () => {
  const document = buildPlan('nccl', request(), HOST);
  assert.ok(document.notes.some((note) => /128 lines .*x86 delivers a line to one CPU/.test(note)));
});
