// XPS as a part of plans: what is dealt to which queue, what contradicts it, written and put back
// as one transaction with the interrupts.

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { a3HighTree } from '../../../test/support/a3-high-host.js';
import { readFixtureHost } from '../../../test/support/fixture-host.js';
import { removeTreeFolder, writeTreeFolder } from '../../../test/support/tree-folder.js';
import type { HostModel, Nic } from '../read/model.js';
import { affinityFolder } from './affinity-store.js';
import { applyPlan } from './apply.js';
import { coreMapOf } from './core-map.js';
import type { IrqJournal } from './journal.js';
import { buildPlan, type IrqPlan } from './plan.js';
import { loadPlan } from './saved-plan.js';
import { checkXps } from './xps-plan.js';
import { restoreXps, type XpsStore, xpsFolder } from './xps-store.js';

const HOST = readFixtureHost(a3HighTree());

function planOf(host: HostModel, hasXps = true): IrqPlan {
  const request = {
    nics: host.nics.filter(({ name }) => name === 'eth1'),
    cores: coreMapOf(host),
    application: undefined,
    txBindings: [],
    rxBindings: [],
    adjustCores: 0,
    manualCores: [],
    channels: 1,
    hasXps,
  };
  return buildPlan('split', request, host);
}

function withEth1(change: (nic: Nic) => Partial<Nic>): HostModel {
  const nics = HOST.nics.map((nic) => (nic.name === 'eth1' ? { ...nic, ...change(nic) } : nic));
  return { ...HOST, nics };
}

const PLAN = planOf(HOST);

test('XPS: every sending CPU has one queue, both threads of a core the same', () => {
  const lines = PLAN.xps ?? [];
  assert.equal(lines.length, 16);
  const [allocation] = PLAN.allocations;
  const dealt = lines.flatMap(({ cpus }) => cpus).sort((a, b) => a - b);
  assert.deepEqual(dealt, allocation?.tx);
  for (const { cpus } of lines) {
    for (const cpu of cpus) assert.ok(cpus.includes((cpu + 104) % 208), `sibling of ${cpu}`);
  }
  assert.equal(lines[3]?.path, '/sys/class/net/eth1/queues/tx-3/xps_cpus');
  assert.match(lines[3].value, /^[0-9a-f]{4}(,[0-9a-f]{8}){6}$/);
});

test('XPS: an unreadable mask leaves the queues alone and says so; --no-xps too', () => {
  const unreadable = withEth1((nic) => ({
    txSteering: nic.txSteering.map((queue) => ({ ...queue, xpsCpus: undefined })),
  }));
  const plan = planOf(unreadable);
  assert.equal(plan.xps, undefined);
  assert.ok(plan.notes.some((note) => note.includes('XPS could not be read')));
  assert.equal(planOf(HOST, false).xps, undefined);
});

test('XPS: a choice of queues that contradicts the plan is named', () => {
  const all = Array.from({ length: 208 }, (_, cpu) => cpu);
  const narrow = withEth1((nic) => ({
    txSteering: nic.txSteering.map((queue) => ({
      ...queue,
      xpsCpus: queue.queue < 4 ? all : [],
    })),
  }));
  const note = planOf(narrow).notes.find((text) => text.includes('XPS as it is'));
  assert.match(note ?? '', /TX queues 0-3 of 16 only/);
  assert.ok(!PLAN.notes.some((text) => text.includes('XPS as it is')));
});

test('XPS: verified against the host; what it does not tell is unknown', () => {
  const lines = PLAN.xps ?? [];
  assert.equal(checkXps(lines, HOST.nics)[0]?.status, 'fail');
  const bound = withEth1((nic) => ({
    txSteering: nic.txSteering.map((queue) => ({
      ...queue,
      xpsCpus: lines.find((line) => line.queue === queue.queue)?.cpus,
    })),
  }));
  assert.equal(checkXps(lines, bound.nics)[0]?.status, 'pass');
  assert.equal(checkXps(lines, [])[0]?.status, 'unknown');
});

let root = '';
beforeEach(() => {
  root = writeTreeFolder(a3HighTree());
});
afterEach(() => removeTreeFolder(root));

const pathOf = (queue: number) => join(root, `sys/class/net/eth1/queues/tx-${queue}/xps_cpus`);
const maskOf = (queue: number) => readFileSync(pathOf(queue), 'utf8').trim();

function apply(xps: XpsStore, saved: IrqJournal[]) {
  return applyPlan(PLAN, affinityFolder(root), {
    id: '1',
    bootId: 'boot-1',
    skipRefused: false,
    xps,
    save: (journal) => saved.push(journal),
  });
}

test('XPS: written with the interrupts, kept in the journal, put back', () => {
  const saved: IrqJournal[] = [];
  const report = apply(xpsFolder(root), saved);
  assert.equal(report.outcome, 'applied');
  assert.equal(report.xps.length, 16);
  assert.equal(maskOf(3), PLAN.xps?.[3]?.value);
  const journal = saved.at(-1);
  assert.equal(journal?.xps?.[3]?.before, '0');
  assert.deepEqual(restoreXps(journal.xps, xpsFolder(root)).problems, []);
  assert.equal(maskOf(3), '0');
});

test('XPS: a queue that refuses undoes everything, interrupts too', () => {
  const before = readFileSync(join(root, 'proc/irq/136/smp_affinity_list'), 'utf8');
  const store = xpsFolder(root);
  let writes = 0;
  const broken: XpsStore = {
    ...store,
    write(nic, queue, mask) {
      if (writes++ === 5) throw Object.assign(new Error('EIO'), { code: 'EIO' });
      store.write(nic, queue, mask);
    },
  };
  const saved: IrqJournal[] = [];
  const report = apply(broken, saved);
  assert.equal(report.outcome, 'restored');
  assert.match(report.xpsProblems[0] ?? '', /^eth1 TX queue 5: EIO/);
  for (let queue = 0; queue < 16; queue++) assert.equal(maskOf(queue), '0');
  assert.equal(readFileSync(join(root, 'proc/irq/136/smp_affinity_list'), 'utf8'), before);
  assert.equal(saved.at(-1)?.state, 'restored');
});

test('XPS: a queue that is gone refuses the plan before anything is written', () => {
  rmSync(pathOf(7));
  const report = apply(xpsFolder(root), []);
  assert.equal(report.outcome, 'refused');
  assert.match(report.xpsProblems[0] ?? '', /TX queue 7: ENOENT, .*the kernel does not steer it/);
  assert.equal(maskOf(0), '0');
});

test('XPS: a saved plan whose interface would lead elsewhere is no plan', () => {
  const path = join(root, 'plan.json');
  writeFileSync(path, JSON.stringify(PLAN));
  assert.equal(loadPlan(path).xps?.length, 16);
  for (const nic of ['..', 'a/b', '']) {
    const xps = (PLAN.xps ?? []).map((line) => ({ ...line, nic }));
    writeFileSync(path, JSON.stringify({ ...PLAN, xps }));
    assert.throws(() => loadPlan(path), /not a plan/, nic);
  }
});
