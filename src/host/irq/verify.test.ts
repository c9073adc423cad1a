// Requested, effective, pending: each state from the readings that produce it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IrqWriter } from '../read/host-settings.js';
import type { Irq } from '../read/model.js';
import { judgeWriters } from './competing-writer.js';
import type { PlanLine } from './plan.js';
import { isFailure, isUnknown, verifyLines } from './verify.js';

const LINE: PlanLine = {
  irq: 136,
  nic: 'eth1',
  pciAddress: '0000:06:00.0',
  vectorIndex: 24,
  vectorName: 'gve-ntfy-blk24@pci:0000:06:00.0',
  queue: 'RX queue 8',
  cpus: [38],
  value: '38',
  path: '/proc/irq/136/smp_affinity_list',
  mask: '',
  before: [25],
  reason: '',
  warnings: [],
};

function reading(more: Partial<Irq>): Irq {
  return {
    irq: 136,
    chip: 'PCI-MSIX-0000:06:00.0',
    hwirq: '24-edge',
    actions: [LINE.vectorName ?? ''],
    pciAddress: '0000:06:00.0',
    vectorIndex: 24,
    countByCpu: { 25: 100 },
    requested: [38],
    effective: [38],
    hint: [],
    node: 0,
    isWritable: true,
    ...more,
  };
}

const BEFORE = reading({});
const STATES = [
  ['proven', { countByCpu: { 25: 100, 38: 7 } }],
  ['bound', {}],
  ['pending', { effective: [25] }],
  ['moved', { countByCpu: { 25: 101, 38: 7 } }],
  ['stray', { countByCpu: { 25: 150 }, effective: [25] }],
  ['stray', { countByCpu: { 25: 150, 38: 1 } }],
  ['lost', { requested: [25], effective: [25] }],
  ['gone', { pciAddress: '0000:0c:00.0' }],
  ['gone', { vectorIndex: 3 }],
  ['unreadable', { requested: undefined }],
  ['requested', { effective: undefined }],
  ['requested', { effective: undefined, countByCpu: undefined }],
  ['proven', { effective: undefined, countByCpu: { 25: 100, 38: 7 } }],
  ['stray', { effective: undefined, countByCpu: { 25: 101, 38: 7 } }],
] as const;

for (const [state, change] of STATES) {
  test(`verify: ${JSON.stringify(change)} is ${state}`, () => {
    const [verdict] = verifyLines([LINE], [reading(change)], [BEFORE]);
    assert.equal(verdict?.state, state);
    assert.equal(isFailure(state), ['stray', 'lost', 'gone'].includes(state));
    assert.equal(isUnknown(state), ['requested', 'unreadable'].includes(state));
  });
}

test('verify: an interrupt missing from the list is gone; without a list it is unreadable', () => {
  assert.equal(verifyLines([LINE], [reading({ irq: 4 })])[0]?.state, 'gone');
  assert.equal(verifyLines([LINE], [])[0]?.state, 'unreadable');
});

test('verify: without an earlier reading the masks alone decide', () => {
  const [verdict] = verifyLines([LINE], [reading({ effective: [25] })]);
  assert.equal(verdict?.state, 'pending');
  assert.equal(verdict.onPlan, undefined);
});

test('verify: old rows without an address are compared by name', () => {
  const old = { pciAddress: undefined, vectorIndex: undefined };
  assert.equal(verifyLines([LINE], [reading(old)])[0]?.state, 'bound');
  const other = { ...old, actions: ['eth%d-ntfy-block.3'] };
  assert.equal(verifyLines([LINE], [reading(other)])[0]?.state, 'gone');
});

const BALANCER: IrqWriter = {
  kind: 'irqbalance',
  isActive: true,
  pid: 77,
  evidence: 'process 77',
  options: ['--foreground'],
};

const BANS = [
  ['nothing', ['--foreground'], [136]],
  ['--banmod=gve', ['--banmod=gve'], []],
  ['--banirq 136', ['--banirq', '136'], []],
  ['another IRQ', ['--banirq=13'], [136]],
  ['the defaults file', ['IRQBALANCE_ARGS="--banmod=gve"'], []],
  ['one-shot mode', ['IRQBALANCE_ONESHOT=yes'], []],
] as const;

for (const [name, options, endangered] of BANS) {
  test(`writers: irqbalance that bans ${name}`, () => {
    const verdict = judgeWriters([LINE], [{ ...BALANCER, options }], () => 'gve');
    assert.deepEqual(verdict.endangered, endangered);
    assert.equal(verdict.remedies.length > 0, endangered.length > 0);
  });
}

test('writers: an installed but idle irqbalance endangers nothing, others are noted', () => {
  const idle = { ...BALANCER, isActive: false };
  const tuned: IrqWriter = { ...BALANCER, kind: 'tuned' };
  const verdict = judgeWriters([LINE], [idle, tuned], () => 'gve');
  assert.deepEqual(verdict.endangered, []);
  assert.match(verdict.notes[0] ?? '', /tuned/);
});
